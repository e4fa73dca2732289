"""The base of all bodies: strict about keys and types as far as the operator wants, and able to say what it ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

Strictness = Literal["exact", "known", "off"]


class Hosts(NamedTuple):
    """Which hosts URLs may name besides public ones."""

    named: frozenset[str] = frozenset()
    with_port: bool = False
    """Any name without a dot, where a port shows that a host is meant."""


PUBLIC = Hosts()

KNOWN_KEYS = frozenset(
    {
        "alexandria",
        "agentHints",
        "checkPromptInjection",
        "domainTools",
        "toolDetail",
    }
)
"""Keys that newer clients send and the contract does not know; to be ignored with a warning unless `exact`."""
_INTERNAL = "__"


@dataclass(slots=True)
class Reading:
    """How a body is to be read, and what was noticed on the way."""

    strictness: Strictness = "known"
    hosts: Hosts = PUBLIC
    ignored: dict[str, None] = field(default_factory=dict)
    invalid_urls: list[str] = field(default_factory=list)

    def tolerates(self, key: str) -> bool:
        if key.startswith(_INTERNAL):
            return True
        return self.strictness == "off" or (self.strictness == "known" and key in KNOWN_KEYS)


_DEFAULT = Reading()


def reading_of(info: ValidationInfo) -> Reading:
    return info.context if isinstance(info.context, Reading) else _DEFAULT


def refuse(message: str, *path: str) -> PydanticCustomError:
    """A rule of the contract that is broken: its sentence becomes the error of the whole answer.

    `path` leads from where it is raised to the field that is to blame.
    """
    # Braces in the sentence itself would be taken for placeholders.
    return PydanticCustomError("custom", "{sentence}", {"sentence": message, "path": path})


class Body(BaseModel):
    """An object of which every key is known; names are in camel case on the wire."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        alias_generator=to_camel,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )
    _reading: Reading | None = None

    @model_validator(mode="before")
    @classmethod
    def _tolerate(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict):
            return data
        reading = reading_of(info)
        strange = [key for key in data if key not in cls.wire_names() and reading.tolerates(key)]
        if not strange:
            return data
        reading.ignored.update((key, None) for key in strange if not key.startswith(_INTERNAL))
        return {key: value for key, value in data.items() if key not in strange}

    @classmethod
    def wire_names(cls) -> frozenset[str]:
        names = cls.__dict__.get("_wire_names")
        if names is None:
            names = frozenset(each.alias or name for name, each in cls.model_fields.items())
            cls._wire_names = names
        return names

    _wire_names: ClassVar[frozenset[str]]

    def read_as(self, reading: Reading) -> Self:
        """The same body, which remembers how it was read."""
        self._reading = reading
        return self

    @property
    def reading(self) -> Reading:
        return self._reading or _DEFAULT

    def sent(self, *names: str) -> bool:
        """Whether the caller said something about one of these fields."""
        return not self.model_fields_set.isdisjoint(names)


class Loose(Body):
    """An object whose unknown keys are dropped without a word."""

    model_config = ConfigDict(extra="ignore")


def _whole(value: Any) -> Any:
    """JSON has one type of number: 3.0 is as whole as 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Int = Annotated[int, BeforeValidator(_whole, json_schema_input_type=int)]
Prompt = Annotated[str, Field(max_length=10_000)]
