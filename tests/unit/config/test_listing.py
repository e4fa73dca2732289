"""`config show` names every setting, where it came from, and no secret."""

from __future__ import annotations

from perseid.config.listing import rows
from perseid.config.loading import declared, load


def test_every_setting_is_listed_with_its_origin() -> None:
    listed = rows(load({"PERSEID_LOG__LEVEL": "debug"}))
    assert [row.name for row in listed] == [field.name for field in declared()]
    level = next(row for row in listed if row.name == "log.level")
    assert level == ("log.level", "debug", "PERSEID_LOG__LEVEL", "PERSEID_LOG__LEVEL", "warning")


def test_secrets_are_masked() -> None:
    listed = rows(load({"PERSEID_FETCH__PROXY": "http://u:hunter2@proxy"}))
    assert "hunter2" not in repr(listed)


def test_of_an_address_only_what_is_secret_is_masked() -> None:
    listed = rows(load({"PERSEID_STORE__URL": "postgresql://u:hunter2@db.example:5433/perseid?password=hunter2"}))
    shown = next(row.value for row in listed if row.name == "store.url")
    assert shown == "postgresql://***@db.example:5433/perseid?***"


def test_what_the_operator_named_is_listed_without_its_secrets() -> None:
    listed = rows(
        load(
            {
                "PERSEID_CONNECTIONS__SHOP": "https://u:hunter2@shop.example/in#hunter2",
                "PERSEID_FOLDERS__OUT": "/srv/out",
            }
        )
    )
    assert [(row.name, row.value, row.origin) for row in listed[-2:]] == [
        ("connections.shop", "https://***@shop.example/in#***", "PERSEID_CONNECTIONS__SHOP"),
        ("folders.out", "/srv/out", "PERSEID_FOLDERS__OUT"),
    ]
