import json

import pytest

from perseid.api.firecrawl.errors import WireError
from perseid.api.firecrawl.reading import parsed


def test_urls_of_a_batch_may_be_many() -> None:
    body = {"urls": ["https://example.org/"] * 5_000}
    assert parsed(json.dumps(body).encode()) == body


@pytest.mark.parametrize(
    "body",
    [
        {"formats": ["markdown"] * 20_000},
        {"headers": {f"k{number}": "v" for number in range(20_000)}},
        {f"k{number}": 1 for number in range(20_000)},
        {"formats": [{"schema": {"enum": ["value"] * 20_000}}]},
        {"urls": [["deeper"] * 20_000]} | {"x": [["deeper"] * 20_000]},
    ],
)
def test_nothing_else_may_have_many_members(body: object) -> None:
    with pytest.raises(WireError, match="members") as refused:
        parsed(json.dumps(body).encode())
    assert refused.value.status == 400
