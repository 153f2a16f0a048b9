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

from tests.faults.handover import BARS, Handover, Kind, Plant, Proof, folder_for_a_plant


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def table(done: list[Handover]) -> tuple[str, bool]:
    lines = [f"{'kind':<22}{'n':>5}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}{'bar ms':>9}  ok"]
    all_met = True
    for kind in Kind:
        taken = [h.seconds for h in done if h.kind is kind]
        if not taken:
            continue
        # The clean exit's bar is one for the 95th percentile, the others are for every one.
        p95, worst = percentile(taken, 0.95), max(taken)
        met = (p95 if kind is Kind.CLEAN_EXIT else worst) <= BARS[kind]
        all_met &= met
        figures = (percentile(taken, 0.5), p95, worst, BARS[kind])
        lines.append(
            f"{kind:<22}{len(taken):>5}"
            + "".join(f"{1000 * f:>9.0f}" for f in figures)
            + f"  {'yes' if met else 'NO'}"
        )
    return "\n".join(lines), all_met


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


async def measure(rounds: int, seed: int) -> bool:
    began = time.monotonic()
    with folder_for_a_plant() as folder:
        plant = Plant(folder, seed)
        try:
            await plant.open()
            done = await plant.run(rounds, lambda _: print(".", end="", flush=True))
            proof = await plant.prove()
        finally:
            await plant.close()
    text, met = table(done)
    print(f"\n{len(done)} handovers between three stations in {time.monotonic() - began:.0f} s, seed {seed}")
    print(text)
    print(proof_lines(proof))
    return met and not proof.problems


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    chosen = parser.parse_args(arguments)
    return 0 if asyncio.run(measure(chosen.rounds, chosen.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
