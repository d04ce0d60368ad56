"""Tables and dialogues of what was played."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

from case import MODES
from peers import comparable
from play import FALSE_MADE, GIVEN_UP, LATER, MADE, ONCE, OUTCOMES, TWO, WRONG_ONCE, WRONG_TWO, Played
from replay import BY_HASH, BY_LINES, EXACT, REFUSED, WAYS, WRONG, Replayed

COLUMNS = {ONCE: "once", TWO: "two", LATER: "later", MADE: "made", GIVEN_UP: "gave up", WRONG_ONCE: "wrong 1", WRONG_TWO: "wrong 2",
           FALSE_MADE: "false"}


@dataclasses.dataclass
class Results:
    """All that was played: `other` calls were left out because they are right calls for another edit."""

    played: list[Played]
    hunks: int
    other: int
    seconds: float
    replayed: list[Replayed]
    #: Commits that are not text throughout.
    left_out: int
    #: What other servers played, by their names.
    peers: dict[str, list[Played]]

    def judged(self) -> list[Played]:
        """All but the calls in other tools' forms, of which no more is asked than that no edit is wrong."""
        return [case for case in self.played if not case.is_form()]

    def count(self, outcome: str) -> int:
        return sum(case.outcome == outcome for case in self.judged())

    def elsewhere(self) -> list[str]:
        return [f"{case.slip}, {case.mode}: {words} in {case.key}" for case in self.played for words in case.elsewhere]

    def refused(self) -> list[str]:
        return [f"{case.slip}, {case.mode}: {words}" for case in self.played for words in case.refused]


def row(name: str, mode: str, played: list[Played]) -> str:
    counts = Counter(case.outcome for case in played)
    stands = [case for case in played if case.outcome in (ONCE, TWO, LATER)]
    errors = [length for case in played for length in case.errors]
    mean = lambda numbers: round(sum(numbers) / len(numbers)) if numbers else 0  # noqa: E731
    cells = [f"{counts[outcome] or '.':>7}" for outcome in OUTCOMES]
    sizes = [mean([case.sent for case in stands]), mean([case.received for case in stands]), mean(errors)]
    return f"{name[:36]:<36} {mode:<10} {len(played):>6} {' '.join(cells)} {' '.join(f'{size:>6}' for size in sizes)}"


def heading() -> str:
    heads = " ".join(f"{COLUMNS[outcome]:>7}" for outcome in OUTCOMES)
    return f"{'mode':<10} {'cases':>6} {heads} {'sent':>6} {'recvd':>6} {'error':>6}"


def table(results: Results, brief: bool) -> str:
    """A line for each slip and mode, or, if it is to be brief, for each slip; and the totals."""
    out = [f"{'slip':<36} {heading()}"]
    groups: dict[tuple[str, str], list[Played]] = {}
    for case in results.played:
        groups.setdefault((case.slip, "" if brief else case.mode), []).append(case)
    out += [row(slip, mode, played) for (slip, mode), played in groups.items()]
    judged, forms = results.judged(), [case for case in results.played if case.is_form()]
    for mode in MODES:
        out.append(row("all", mode, [case for case in judged if case.mode == mode]))
    out.append(row("all", "", judged))
    if forms:
        out.append(row("other tools' forms", "", forms))
    calls = sum(case.calls for case in results.played)
    total = len(judged) or 1
    stands = sum(results.count(outcome) for outcome in (ONCE, TWO, MADE))
    out.append("")
    out.append(f"{results.hunks} hunks, {len(results.played)} cases, {calls} calls, {results.seconds:.1f} s "
               f"({calls / max(results.seconds, 0.001):.0f} calls/s); {100 * stands / total:.2f} % stand by the second call")
    out.append(f"hints that our own schema refuses: {len(results.refused())}; hints with a placeholder in quotes: "
               f"{sum(case.placeholders for case in results.played)}; left out, as right calls for another edit: {results.other}")
    elsewhere = results.elsewhere()
    out.append(f"hints that name other lines: {len(elsewhere)}; errors that say that an edit was made, and it was not: "
               f"{sum(case.said_made for case in results.played)}")
    out += [f"  refused: {words}" for words in results.refused()[:5]]
    for slip, count in Counter(words.split(", ")[0] for words in elsewhere).most_common():
        first = next(words for words in elsewhere if words.startswith(slip))
        out.append(f"  other lines: {count} of {slip}, as {first}")
    if results.replayed:
        out += ["", *replays(results)]
    for name, played in results.peers.items():
        ours = comparable(results.played, played)
        out += ["", f"{'the same cases':<36} {heading()}", row(name, "", played), row("this server", "", ours)]
    return "\n".join(out)


def replays(results: Results) -> list[str]:
    """A line for each way in which commits were replayed."""
    out = [f"{'commits, each as one call':<36} {EXACT:>10} {REFUSED:>10} {WRONG:>10}"]
    for way in WAYS:
        counts = Counter(commit.outcome for commit in results.replayed if commit.way == way)
        out.append(f"{way:<36} {counts[EXACT]:>10} {counts[REFUSED]:>10} {counts[WRONG]:>10}")
    out.append(f"left out, because not text throughout, or too large: {results.left_out}")
    return out


def worse(results: Results) -> list[str]:
    """What is worse than it may be."""
    total = len(results.judged()) or 1
    found = []
    if count := sum(case.outcome == WRONG_ONCE for case in results.played):
        found.append(f"{count} edits were made wrongly at once")
    for outcome, most in ((WRONG_TWO, 1), (GIVEN_UP, 5)):
        if (percent := 100 * results.count(outcome) / total) > most:
            found.append(f"{outcome}: {percent:.2f} %, more than {most} %")
    for commit in results.replayed:
        if commit.outcome == WRONG or (commit.outcome == REFUSED and commit.way in (BY_LINES, BY_HASH)):
            found.append(f"commit {commit.commit} by {commit.way}: {commit.outcome} {commit.why}")
    found += [f"a hint that our own schema refuses: {words}" for words in results.refused()]
    return found


def show(results: Results, slip: str, outcome: str, most: int) -> None:
    """Prints whole dialogues of cases of a slip that ended so; without an outcome, of those that did not end well."""
    good = (ONCE, TWO, MADE)
    chosen = [case for case in results.played if case.slip.startswith(slip)
              and (case.outcome == outcome if outcome else case.outcome not in good)]
    for case in chosen[:most]:
        print(f"==== {case.slip}, {case.mode}: {case.outcome} ({', '.join(case.rules)})  {case.key}")
        for tool, arguments, text in case.dialogue:
            print(f"-> {tool} {json.dumps(arguments, ensure_ascii=False)}\n<- {text}")
        print()
    print(f"{len(chosen)} such cases\n")
