"""How long a plant is without a leader, by the way it lost the last one, over many handovers.

    python -m tests.bench.handover_bench [--rounds 200] [--seed N]

Ends with code 1 when a bar is missed or the proof fails.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time

from tests.bench.table import Row, lines, percentile
from tests.faults.handover import BARS, Handover, Kind, Plant, Proof, folder_for_a_plant

PART = "handover"
ROUNDS = 200


def rows(done: list[Handover], proof: Proof) -> list[Row]:
    made = []
    for kind in Kind:
        taken = [1000 * h.seconds for h in done if h.kind is kind]
        if taken:
            # The clean exit's bar is one for the 95th percentile, the others are for every one.
            p50, p95, worst, bar = (
                percentile(taken, 0.5),
                percentile(taken, 0.95),
                max(taken),
                1000 * BARS[kind],
            )
            counted, word = (p95, "p95") if kind is Kind.CLEAN_EXIT else (worst, "max")
            made.append(
                Row(PART, f"{kind}, {word} of {len(taken)}", counted, "ms", {"p50": p50, "p95": p95, "max": worst},
                    counted / bar, f"≤ {bar:.0f} ms", counted <= bar)
            )  # fmt: skip
    wrong = len(proof.problems)
    return [
        *made,
        Row(PART, f"violations in {proof.beacons} writes", wrong, "", {}, None, "none", wrong == 0),
    ]


def proof_lines(proof: Proof) -> str:
    overlap = max(proof.overlap.values(), default=0.0)
    return "\n".join(
        [
            f"writes checked: {proof.beacons}, epochs: {proof.epochs}, violations: {len(proof.problems)}",
            f"refused by the fence: {proof.refused}, of them by continued leaders: {proof.refused_awake}",
            f"handovers in which an old leader still tried when the new one acted: {len(proof.overlap)}"
            f" (at most {1000 * overlap:.1f} ms; the database refused it)",
            *proof.problems,
        ]
    )


async def measure(rounds: int, seed: int) -> list[Row]:
    began = time.monotonic()
    with folder_for_a_plant() as folder:
        plant = Plant(folder, seed)
        try:
            await plant.open()
            done = await plant.run(rounds, lambda _: print(".", end="", flush=True))
            proof = await plant.prove()
        finally:
            await plant.close()
    print(f"\n{len(done)} handovers between three stations in {time.monotonic() - began:.0f} s, seed {seed}")
    print(proof_lines(proof))
    return rows(done, proof)


def run(rounds: int = ROUNDS, seed: int | None = None) -> list[Row]:
    return asyncio.run(measure(rounds, random.randrange(10**6) if seed is None else seed))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int)
    chosen = parser.parse_args()
    made = run(chosen.rounds, chosen.seed)
    print("\n".join(lines(made)))
    return 1 if any(row.ok is False for row in made) else 0


if __name__ == "__main__":
    sys.exit(main())
