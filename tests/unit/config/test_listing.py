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
