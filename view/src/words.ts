// Compares two lines word by word, and pairs removed lines with added ones. Works on numbers and strings, without the page.

/** A part of a line: a range of code units; the end is excluded. */
export type Mark = [from: number, to: number];

const WORD = /[\p{L}\p{N}\p{M}_]+|\s+|\P{M}\p{M}*/gu;
/** If there are more pairs of words than this, a change is marked as a whole. */
const MOST_PAIRS = 250_000;
/** If there are more pairs of lines than this, lines are paired in their order. */
const MOST_LINES = 2_500;
/** The least share of common words of two lines that count as versions of each other. */
const ALIKE = 0.35;

/** Returns the differing parts of each of two lines. */
export function marks(old: string, now: string): [Mark[], Mark[]] {
  const a = old.match(WORD) ?? [];
  const b = now.match(WORD) ?? [];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const start = length(a.slice(0, head));
  const middleOfA = a.slice(head, a.length - tail);
  const middleOfB = b.slice(head, b.length - tail);
  if (middleOfA.length * middleOfB.length > MOST_PAIRS) {
    return [[[start, start + length(middleOfA)]], [[start, start + length(middleOfB)]]];
  }
  const same = common(middleOfA, middleOfB);
  return [gather(middleOfA, start, same.map(([i]) => i)), gather(middleOfB, start, same.map(([, j]) => j))];
}

function length(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + word.length, 0);
}

/** The longest common subsequence, as pairs of indices. */
function common(a: readonly string[], b: readonly string[]): [number, number][] {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const here = i * width + j;
      longest[here] =
        a[i] === b[j] ? (longest[here + width + 1] ?? 0) + 1 : Math.max(longest[here + width] ?? 0, longest[here + 1] ?? 0);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if ((longest[(i + 1) * width + j] ?? 0) >= (longest[i * width + j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  return pairs;
}

/** The ranges of words that are not common; neighbours are joined if only blanks are between them. */
function gather(words: readonly string[], start: number, same: readonly number[]): Mark[] {
  const held = new Set(same);
  const found: Mark[] = [];
  let at = start;
  let blanksFrom: number | undefined;
  words.forEach((word, index) => {
    const end = at + word.length;
    const last = found.at(-1);
    if (!held.has(index)) {
      if (last && (last[1] === at || last[1] === blanksFrom)) last[1] = end;
      else found.push([at, end]);
      blanksFrom = undefined;
    } else if (/^\s+$/u.test(word) && last?.[1] === at) blanksFrom = at;
    else blanksFrom = undefined;
    at = end;
  });
  return found;
}

/** The similarity of two lines, from 0 to 1. It counts common words, which is fast, and enough to recognise versions of a line. */
function likeness(a: readonly string[], b: readonly string[]): number {
  if (a.length + b.length === 0) return 1;
  const counts = new Map<string, number>();
  for (const word of a) counts.set(word, (counts.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of b) {
    const left = counts.get(word) ?? 0;
    if (left > 0) {
      shared += word.length;
      counts.set(word, left - 1);
    }
  }
  return (2 * shared) / Math.max(1, length(a) + length(b));
}

/** Pairs each removed line with the added line that is its new version. Returns pairs of indices in order; other lines have no counterpart. */
export function pair(removed: readonly string[], added: readonly string[]): [number, number][] {
  if (removed.length * added.length > MOST_LINES) {
    return removed.slice(0, added.length).map((_, index) => [index, index]);
  }
  const words = (text: string) => text.slice(0, 1_000).match(WORD)?.filter((word) => word.trim() !== "") ?? [];
  const a = removed.map(words);
  const b = added.map(words);
  const width = b.length + 1;
  const best = new Float64Array((a.length + 1) * width);
  const alike = new Float64Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const here = i * width + j;
      const share = likeness(a[i] ?? [], b[j] ?? []);
      alike[here] = share;
      best[here] = Math.max(
        share >= ALIKE ? share + (best[here + width + 1] ?? 0) : 0,
        best[here + width] ?? 0,
        best[here + 1] ?? 0,
      );
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const here = i * width + j;
    const share = alike[here] ?? 0;
    if (share >= ALIKE && best[here] === share + (best[here + width + 1] ?? 0)) pairs.push([i++, j++]);
    else if (best[here] === best[here + width]) i += 1;
    else j += 1;
  }
  return pairs;
}

/** Splits a text into lines, with their ends. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/gu) ?? [];

/** Returns the differing parts of each line of two texts; a line without a counterpart differs as a whole. */
export function compare(old: string, now: string): [Mark[][], Mark[][]] {
  const bare = (text: string) => linesOf(text).map((line) => line.replace(/\r?\n$/u, ""));
  const a = bare(old);
  const b = bare(now);
  const found: [Mark[][], Mark[][]] = [a.map((line) => [[0, line.length]]), b.map((line) => [[0, line.length]])];
  for (const [i, j] of pair(a, b)) [found[0][i], found[1][j]] = marks(a[i] ?? "", b[j] ?? "");
  return found;
}
