"""Settings from their sources: flag > environment > old names > file > default. Pure: all comes as arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from perseid.config import old_names
from perseid.config.settings import Settings
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PREFIX = "PERSEID_"
DEFAULT = "default"
FLAG = "flag"


class FileSource(NamedTuple):
    """A configuration file that was read: `name` stands in origins and errors."""

    name: str
    values: Mapping[str, Any]


class Loaded(NamedTuple):
    """`origins` maps each setting (`fetch.proxy`) to its source, for people."""

    settings: Settings
    origins: dict[str, str]
    notes: tuple[str, ...] = ()
    """Variables of other systems that are set but can't be used, and why; worth a warning."""


class Field(NamedTuple):
    """One setting as its declaration has it."""

    name: str
    type: Any
    default: Any
    meta: msgspec.Meta
    secret: bool
    joined: bool
    """Text that may also be given as a list or a truth value."""


def load(env: Mapping[str, str], files: Sequence[FileSource] = (), flags: Mapping[str, Any] | None = None) -> Loaded:
    """Merge the sources; later files win over earlier ones, flags (`{"fetch.proxy": …}`) over all.

    Raises `ConfigError` that names the setting, its source, the value and what is allowed.
    """
    fields = {field.name: field for field in declared()}
    ours = list(_ours(env, flags or {}, fields))
    values: dict[str, Any] = {}
    origins = dict.fromkeys(fields, DEFAULT)
    notes = old_names.without_effect(env)
    for name, raw, origin in _of_files(files, fields):
        values[name], origins[name] = _convert(_field(name, origin, fields), raw, origin), origin
    named = {name for name, _raw, _origin in ours}
    for name, raw, origin in old_names.given(env):
        if name in named:
            continue
        try:
            values[name], origins[name] = _convert(fields[name], raw, origin, is_text=True), origin
        except ConfigError as error:
            notes.append(f"{error}; it is ignored, say it as {env_variable(name)}")
    for name, raw, origin in ours:
        values[name], origins[name] = _convert(_field(name, origin, fields), raw, origin, is_text=True), origin
    return Loaded(_build(values), origins, tuple(notes))


def declared() -> Iterator[Field]:
    """Every setting in the order of its declaration; entries of mappings are not declared, see `mappings`."""
    for section in msgspec.structs.fields(Settings):
        if get_origin(section.type) is dict:
            continue
        hints = get_type_hints(section.type, include_extras=True)
        for member in msgspec.structs.fields(section.type):
            yield _declare(f"{section.name}.{member.name}", hints[member.name], member.default)


def mappings() -> dict[str, tuple[Any, Any]]:
    """Sections whose members are named by the operator: the types of a name and of a value."""
    hints = get_type_hints(Settings, include_extras=True)
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is dict}


def entry(section: str, name: str) -> Field:
    """A member of a mapping as if it had been declared."""
    return _declare(f"{section}.{name}", mappings()[section][1], "")


def _declare(name: str, hint: Any, default: Any) -> Field:
    kind, meta = _unwrap(hint)
    extra = meta.extra or {}
    return Field(name, kind, default, meta, bool(extra.get("secret")), bool(extra.get("joined")))


def _unwrap(hint: Any) -> tuple[Any, msgspec.Meta]:
    if get_origin(hint) is Annotated:
        kind, meta = get_args(hint)
        return kind, meta
    return hint, msgspec.Meta()


def _field(name: str, origin: str, fields: Mapping[str, Field]) -> Field:
    """The setting of this name. Raises `ConfigError` where there can't be one."""
    if name in fields:
        return fields[name]
    section, _, member = name.partition(".")
    if section not in mappings():
        raise _unknown(name, origin, fields)
    named = _declare(name, mappings()[section][0], "")
    try:
        msgspec.convert(member, Annotated[named.type, named.meta])
    except msgspec.ValidationError:
        raise ConfigError(f"{origin}: {name}: a name in [{section}] is of {allowed(named)}") from None
    return entry(section, member)


def _sections(fields: Mapping[str, Field]) -> set[str]:
    return {name.partition(".")[0] for name in fields} | set(mappings())


def _of_files(files: Sequence[FileSource], fields: Mapping[str, Field]) -> Iterator[tuple[str, Any, str]]:
    """(setting, value, file) from the weakest file to the strongest."""
    sections = _sections(fields)
    for source in files:
        for name, raw in _of_file(source, sections):
            yield name, raw, source.name


def _ours(
    env: Mapping[str, str], flags: Mapping[str, Any], fields: Mapping[str, Field]
) -> Iterator[tuple[str, Any, str]]:
    """(setting, value, variable) of our own names in the environment, then flags."""
    sections = _sections(fields)
    for variable in sorted(env):
        if (meant := _env_name(variable, sections, fields)) is not None:
            yield meant, env[variable], variable
    for name, raw in flags.items():
        yield name, raw, FLAG


def _of_file(source: FileSource, sections: set[str]) -> Iterator[tuple[str, Any]]:
    for section, members in source.values.items():
        if section not in sections:
            raise _unknown(section, source.name, sections)
        if not isinstance(members, dict):
            raise ConfigError(f"{source.name}: {section} is a section; write [{section}] above its settings")
        for member, raw in members.items():
            yield f"{section}.{member}", raw


def _env_name(variable: str, sections: set[str], fields: Mapping[str, Field]) -> str | None:
    """The setting that an environment variable means; None for variables that are no settings."""
    if not variable.startswith(PREFIX):
        return None
    body = variable.removeprefix(PREFIX).lower()
    section, nested, member = body.partition("__")
    name = f"{section}.{member}"
    if nested:
        if name in fields or section in mappings():
            return name
        raise _unknown(variable, "environment", [env_variable(field) for field in fields])
    for section in sections:
        if body.startswith(f"{section}_"):  # one underscore where two were meant
            meant = f"{section}.{body[len(section) + 1 :]}"
            if meant in fields or section in mappings():
                raise ConfigError(f"{variable}: unknown setting; did you mean {env_variable(meant)}?")
    return None


def env_variable(name: str) -> str:
    """`fetch.proxy` → `PERSEID_FETCH__PROXY`."""
    return PREFIX + name.replace(".", "__").upper()


def _convert(field: Field, raw: Any, origin: str, *, is_text: bool = False) -> Any:
    """`is_text` for sources that know text only; files have types of their own."""
    value = raw
    if field.joined and isinstance(raw, bool):
        value = str(raw).lower()
    elif field.joined and isinstance(raw, (list, tuple)):
        value = ",".join(str(part) for part in raw)
    elif field.type is bool and is_text and isinstance(raw, str):
        value = _TRUTH.get(raw.strip().lower(), raw)
    elif get_origin(field.type) is tuple and is_text and isinstance(raw, str):
        value = [part.strip() for part in raw.split(",") if part.strip()]
    try:
        return msgspec.convert(value, Annotated[field.type, field.meta], strict=not is_text)
    except msgspec.ValidationError:
        shown = "***" if field.secret else repr(raw)
        where = origin if origin == env_variable(field.name) else f"{origin}: {field.name}"
        raise ConfigError(f"{where} = {shown} is not allowed; allowed: {allowed(field)}") from None


_TRUTH = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


def allowed(field: Field) -> str:
    """What a setting may be, for people."""
    kind, meta = field.type, field.meta
    if meta.description or get_origin(kind) is Literal:
        return meta.description or ", ".join(str(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of texts (in the environment: separated by commas)"
    if kind is bool:
        return "true or false"
    if field.joined:
        return "true, false, or a list separated by commas"
    if kind is str:
        return "a text that is not empty" if meta.min_length else "a text"
    noun = "a whole number" if kind is int else "a number"
    bounds = [
        f"{word} {bound:g}" if isinstance(bound, float) else f"{word} {bound}"
        for word, bound in (("above", meta.gt), ("from", meta.ge), ("up to", meta.le))
        if bound is not None
    ]
    return " ".join([noun, *bounds])


def _unknown(name: str, origin: str, known: Any) -> ConfigError:
    from difflib import get_close_matches  # noqa: PLC0415  only needed for this message

    near = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "`perseid config show` lists all settings"
    return ConfigError(f"{origin}: unknown setting {name}; {hint}")


def _build(values: Mapping[str, Any]) -> Settings:
    sections: dict[str, Any] = {}
    for section in msgspec.structs.fields(Settings):
        prefix = f"{section.name}."
        members = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
        if members:
            sections[section.name] = section.type(**members)
    return Settings(**sections)
