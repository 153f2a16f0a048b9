"""What an agent concludes from the plant's generations, when a channel starts while it is asking."""

from __future__ import annotations

from typing import Any

from core.agent.channel_report import compare_generations


class Asked:
    """Channels of which a third is started while the question about the first two is on its way: a fake, because
    that takes a start within the millisecond of the answer."""

    def __init__(self) -> None:
        self.on_air = {1: 4, 2: 4}
        self.compared: dict[int, int] = {}

    def running(self) -> dict[int, int]:
        return dict(self.on_air)

    def compare(self, current: dict[int, int]) -> None:
        self.compared = current

    async def fetch(self, _: str, ids: list[int]) -> list[dict[str, Any]]:
        assert sorted(ids) == [1, 2]
        self.on_air[3] = 1
        return [{"id": 1, "generation": 4}]


async def test_a_channel_that_was_not_asked_about_is_left_alone_and_a_deleted_one_is_over() -> None:
    asked = Asked()
    await compare_generations(asked, asked)  # type: ignore[arg-type]
    assert asked.compared == {1: 4, 2: 5}
