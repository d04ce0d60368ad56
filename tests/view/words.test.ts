// What of two lines is marked, and which lines of a change belong together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, marks, pair } from "../../view/src/words.ts";

/** Both lines with what is marked in brackets. */
function shown(old: string, now: string): [string, string] {
  const [inOld, inNow] = marks(old, now);
  const put = (text: string, parts: readonly [number, number][]) =>
    [...parts].reverse().reduce((left, [from, to]) => `${left.slice(0, from)}[${left.slice(from, to)}]${left.slice(to)}`, text);
  return [put(old, inOld), put(now, inNow)];
}

test("words that differ are marked, as whole words", () => {
  assert.deepEqual(shown("let total = 1;", "let totals = 1;"), ["let [total] = 1;", "let [totals] = 1;"]);
  assert.deepEqual(shown("a b c", "a c"), ["a [b ]c", "a c"]);
  assert.deepEqual(shown("f(x, y)", "f(x)"), ["f(x[, y])", "f(x)"]);
  assert.deepEqual(shown("one two three", "six two four"), ["[one] two [three]", "[six] two [four]"]);
});

test("neighbours are marked together, blanks between them included", () => {
  assert.deepEqual(shown("keep one two keep", "keep six ten keep"), ["keep [one two] keep", "keep [six ten] keep"]);
});

test("letters with marks, and pairs of surrogates, are not parted", () => {
  assert.deepEqual(shown("cafe\u0301 x", "cafe x"), ["[cafe\u0301] x", "[cafe] x"]);
  assert.deepEqual(shown("\u{1f600}", "\u{1f601}"), ["[\u{1f600}]", "[\u{1f601}]"]);
});

test("what is the same is not marked, and what is only there is", () => {
  assert.deepEqual(marks("same", "same"), [[], []]);
  assert.deepEqual(marks("", "new"), [[], [[0, 3]]]);
  assert.deepEqual(shown("a", "a \t"), ["a", "a[ \t]"]);
});

test("a change of very many words is marked as one", () => {
  const long = (word: string) => `start ${`${word} `.repeat(1_000)}end`;
  const [old] = marks(long("a"), long("b"));
  assert.equal(old.length, 1);
});

test("marks leave out the same text in both, whatever the lines", () => {
  // A small generator of its own, so that a failure is the same each time.
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48_271) % 0x7fffffff) % below;
  const alphabet = ["a", "b", " ", "\t", "(", "é", "\u{1f600}", "e\u0301"];
  const line = () => Array.from({ length: random(12) }, () => alphabet[random(alphabet.length)]).join("");
  const without = (text: string, parts: readonly [number, number][]) => [...parts].reverse().reduce((left, [from, to]) => left.slice(0, from) + left.slice(to), text);
  for (let round = 0; round < 3_000; round += 1) {
    const [old, now] = [line(), line()];
    const [inOld, inNow] = marks(old, now);
    // Blanks between two marks are marked with them, in one line and perhaps not in the other.
    assert.equal(without(old, inOld).replace(/\s/gu, ""), without(now, inNow).replace(/\s/gu, ""), JSON.stringify([old, now]));
    for (const parts of [inOld, inNow]) parts.reduce((before, [from, to]) => (assert.ok(from > before && from < to), to), -1);
  }
});

test("a line belongs to the one that it is most like, in their order", () => {
  assert.deepEqual(pair(["let a = 1;", "call(a);"], ["// new", "let a = 2;", "call(a, b);"]), [[0, 1], [1, 2]]);
  assert.deepEqual(pair(["apple pear"], ["completely different"]), []);
});

test("of two texts whole lines are marked where none is alike", () => {
  assert.deepEqual(compare("a b c\nx\n", "a b d\n"), [[[[4, 5]], [[0, 1]]], [[[4, 5]]]]);
});
