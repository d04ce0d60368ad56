//! Finds slips in new text: [`review`], [`review_new_file`].

use std::collections::HashSet;

use super::surroundings::Surroundings;
use crate::elision::is_elision;
use crate::line::{NumberColumn, NumberedLine, numbered};
use crate::rejection::{Blanks, Finding, Slip, TextKind};

/// The way in which a request names the place of new text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::resolve) enum NamedBy<'a> {
    /// By this text alone.
    Text(&'a str),
    /// By lines and their text, which is this.
    Quoted(&'a str),
    /// By lines and their digest.
    Digest,
    /// The text is inserted between two lines.
    Insertion,
}

/// Reviews new text for a place. `written` is the text that the edit leaves there; it differs from `new`
/// where lines found in the second tier keep the file's bytes.
pub(in crate::resolve) fn review(
    way: NamedBy<'_>,
    new: &str,
    written: &str,
    place: &Surroundings,
    kind: TextKind,
) -> Vec<Finding> {
    let lines: Vec<&str> = lines_of(new);
    let review = Review { way, new, lines, place, kind };
    let findings = [
        review.empty_line(),
        review.numbers(),
        review.blank_ends(),
        review.repeats().or_else(|| review.range_too_short()),
        review.indented_twice(),
        review.indentation(),
        review.mark(),
        review.escaped(),
        review.list(),
        review.lost_blanks(written),
        review.joined(),
        review.torn(),
        review.placeholder(),
    ];
    findings.into_iter().flatten().collect()
}

/// Reviews the text of a new file, as it was sent.
#[must_use]
pub fn review_new_file(contents: &str, kind: TextKind) -> Vec<Finding> {
    let text = contents.replace("\r\n", "\n");
    let place =
        Surroundings { first: 1, own: Some(Vec::new()), starts_line: true, ..Surroundings::default() };
    let review = Review { way: NamedBy::Insertion, new: &text, lines: lines_of(&text), place: &place, kind };
    let script_ends = || {
        let has_crlf = contents.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r'));
        (has_crlf && contents.starts_with("#!")).then_some(Finding { slip: Slip::ScriptEnds, line: 0 })
    };
    let findings = [
        review.numbers(),
        review.mark(),
        review.escaped(),
        review.list(),
        review.placeholder(),
        script_ends(),
    ];
    findings.into_iter().flatten().collect()
}

fn lines_of(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

struct Review<'a> {
    way: NamedBy<'a>,
    new: &'a str,
    /// The lines of the new text.
    lines: Vec<&'a str>,
    place: &'a Surroundings,
    kind: TextKind,
}

impl Review<'_> {
    #[expect(clippy::unnecessary_wraps, reason = "each finder ends in it")]
    fn at(slip: Slip, index: usize) -> Option<Finding> {
        Some(Finding { slip, line: index as u64 })
    }

    fn last(&self) -> usize {
        self.lines.len().saturating_sub(1)
    }

    /// Finds an empty line that is left, or made, only because one of the two texts ends with a line end and
    /// the other does not. A text that only gets more line ends is not a slip.
    fn empty_line(&self) -> Option<Finding> {
        let NamedBy::Text(old) = self.way else { return None };
        let (before, after) = (&self.place.before, &self.place.after);
        let ends_line = self.place.ends_line || !after.is_empty() && after.trim().is_empty();
        if old.ends_with('\n') || !ends_line || old.trim().is_empty() {
            return None;
        }
        let starts_line = self.place.starts_line || !before.is_empty() && before.trim().is_empty();
        let stays = self.new.is_empty() && starts_line;
        let arises = self.new.ends_with('\n') && self.new.trim_end_matches('\n') != old;
        if stays || arises { Self::at(Slip::EmptyLine, self.lines.len()) } else { None }
    }

    fn numbers(&self) -> Option<Finding> {
        let is_table = self.kind == TextKind::Tabular;
        if is_table || self.place.own.is_none() || self.place.all().any(|line| number(line).is_some()) {
            return None;
        }
        let here = |index: usize| self.place.first + index as u64;
        let numbers: Vec<_> = self.lines.iter().map(|line| number(line)).collect();
        let is_own = |(index, found): (usize, &Option<(u64, bool)>)| {
            found.is_some_and(|(number, is_sure)| is_sure && number == here(index))
        };
        let texts = || self.lines.iter().zip(&numbers).filter(|(line, _)| !line.trim().is_empty());
        let are_all = texts().all(|(_, number)| number.is_some()) && texts().next().is_some();
        let mut found = numbers.iter().enumerate();
        if !are_all {
            let own =
                found.find(|pair| is_own(*pair)).filter(|(index, _)| *index > 0 || self.place.starts_line);
            return own.and_then(|(index, _)| Self::at(Slip::Number, index));
        }
        let all: Vec<(u64, bool)> = numbers.iter().flatten().copied().collect();
        let are_sure = all.iter().all(|(_, is_sure)| *is_sure);
        let are_own = found.all(|(index, number)| number.is_none_or(|(number, _)| number == here(index)));
        let count_up = all.len() > 1 && all.is_sorted_by(|(one, _), (next, _)| *next == one + 1);
        let is_in_text = self.place.starts_line && self.place.all().any(|line| !line.trim().is_empty());
        if is_in_text && are_own && (are_sure || count_up) {
            return Self::at(Slip::Numbers, 0);
        }
        if are_sure || count_up || is_in_text && are_own { Self::at(Slip::Number, 0) } else { None }
    }

    /// Finds an empty line at either end of the new text. Between blocks an empty line is usual, unless only
    /// one end has it and both ends touch text.
    fn blank_ends(&self) -> Option<Finding> {
        let (first, last) = (self.lines.first()?.trim(), self.lines.last()?.trim());
        if self.lines.iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        let is_text = |line: Option<&String>| line.is_some_and(|line| !line.trim().is_empty());
        let are_blocks = self.place.all().any(|line| line.trim().is_empty());
        let (above, below) = (self.place.above.last(), self.place.below.first());
        let text = self.lines.iter().find(|line| !line.trim().is_empty())?;
        let (is_first, is_last) = if self.way == NamedBy::Insertion {
            // At the top of a file nothing is above. A line that ends a block needs no empty line before it.
            let ends_block = below.is_some_and(|below| indentation(below).len() < indentation(text).len());
            let is_below = is_text(below) && !ends_block;
            (
                first.is_empty()
                    && is_text(above)
                    && (!are_blocks && !ends_block || !last.is_empty() && is_below),
                last.is_empty() && is_text(below) && (!are_blocks || !first.is_empty() && is_text(above)),
            )
        } else {
            let own = self.place.own.as_deref()?;
            let is_new = |line: &str, own: Option<&String>| line.is_empty() && is_text(own);
            let ends =
                self.place.ends_line && !matches!(self.way, NamedBy::Text(old) if !old.ends_with('\n'));
            (
                self.place.starts_line && is_new(first, own.first()) && is_text(above),
                ends && is_new(last, own.last()) && is_text(below),
            )
        };
        match (is_first, is_last) {
            (true, _) => Self::at(Slip::BlankFirst, 0),
            (_, true) => Self::at(Slip::BlankLast, self.last()),
            _ => None,
        }
    }

    /// Finds lines that already stand directly above or below: without its head and tail in common with the
    /// old text, the new text begins with the lines above it, or ends with the lines below it.
    fn repeats(&self) -> Option<Finding> {
        let own = self.place.own.as_deref()?;
        let (head, tail) = common_ends(own, &self.lines);
        let added = self.lines.get(head..self.lines.len() - tail)?;
        let before: Vec<&String> = self.place.above.iter().chain(own.get(..head)?).collect();
        let after: Vec<&String> = own.get(own.len() - tail..)?.iter().chain(&self.place.below).collect();
        // A closing bracket is usually followed by one further left, so a repeated identical one is
        // suspicious.
        let closes = |line: &str| line.trim().starts_with(['}', ')', ']']);
        let tells =
            |lines: &[&str]| lines.iter().any(|line| closes(line) || line.chars().any(char::is_alphanumeric));
        // New text can begin or end inside a line of the file; only whole lines are compared.
        let is_ended = self.place.ends_line || self.way == NamedBy::Insertion;
        let has_several = self.lines.len() > 1;
        let is_first_whole =
            head > 0 || self.place.starts_line && (is_ended || has_several || self.new.ends_with('\n'));
        let is_last_whole = tail > 0 || is_ended && (self.place.starts_line || has_several);
        let is_above = |count: &usize| {
            let (first, last) =
                (added.get(..*count), before.len().checked_sub(*count).and_then(|at| before.get(at..)));
            first.is_some_and(tells) && first.zip(last).is_some_and(|(first, last)| last.iter().eq(first))
        };
        let is_below = |count: &usize| {
            let (last, first) = (added.get(added.len() - count..), after.get(..*count));
            last.is_some_and(tells) && last.zip(first).is_some_and(|(last, first)| first.iter().eq(last))
        };
        let most = added.len().min(before.len().max(after.len()));
        if is_first_whole && (1..=most).any(|count| is_above(&count)) {
            return Self::at(Slip::Repeats { is_above: true }, head);
        }
        let is_below = is_last_whole && (1..=most).any(|count| is_below(&count));
        if is_below { Self::at(Slip::Repeats { is_above: false }, head + added.len() - 1) } else { None }
    }

    fn range_too_short(&self) -> Option<Finding> {
        let own = self.place.own.as_deref().filter(|_| self.way == NamedBy::Digest)?;
        let surplus = self.lines.get(own.len()..).filter(|surplus| !surplus.is_empty() && !own.is_empty())?;
        let below = self.place.below.get(..surplus.len())?;
        // Lines with only brackets do not count.
        let mut pairs =
            surplus.iter().zip(below).filter(|(new, below)| new.trim() != below.trim() || is_telling(new));
        pairs.clone().next()?;
        if !pairs.all(|(new, below)| are_alike(new, below)) {
            return None;
        }
        Self::at(Slip::RangeTooShort { surplus: surplus.len() as u64 }, own.len())
    }

    fn indented_twice(&self) -> Option<Finding> {
        let NamedBy::Text(old) = self.way else { return None };
        let of_file = Blanks::of(&self.place.before).filter(|_| !old.starts_with([' ', '\t']))?;
        let is_of_next = self.new.is_empty() && old.ends_with('\n');
        let line = if is_of_next { self.place.below.first()? } else { *self.lines.first()? };
        let of_text = Blanks::of(indentation(line))?;
        Self::at(Slip::IndentedTwice { of_file, of_text, is_of_next }, 0)
    }

    /// Finds changed indentation that is hardly meant: tabs in a file of spaces, or the reverse; a first line
    /// that lost its indentation; if the request does not quote the old text, also each line indented
    /// differently from the similar line that it replaces, or the first line differently from the lines
    /// around it.
    fn indentation(&self) -> Option<Finding> {
        let own = self.place.own.as_deref().filter(|_| self.place.starts_line)?;
        let texts = |line: &&str| !line.trim().is_empty();
        let new: Vec<(usize, &str)> =
            self.lines.iter().copied().enumerate().filter(|(_, line)| texts(line)).collect();
        let report = |of_file: &str, (index, line): (usize, &str)| {
            let of = |line| Blanks::of(indentation(line)).unwrap_or_default();
            Self::at(Slip::Indentation { of_file: of(of_file), of_text: of(line) }, index)
        };
        let there: Vec<&str> =
            self.place.all().filter(|line| indentation(line).len() > 1 || line.starts_with('\t')).collect();
        let is_tabs = there.first()?.starts_with('\t');
        let is_other = |line: &str| if is_tabs { line.starts_with("  ") } else { line.starts_with('\t') };
        let other = new.iter().find(|(_, line)| is_other(line));
        if let (Some(first), Some(other)) = (there.first(), other)
            && there.iter().all(|line| line.starts_with('\t') == is_tabs && !is_other(line))
            && there.len() > 1
        {
            return report(first, *other);
        }
        let old: Vec<&str> = own.iter().map(String::as_str).filter(texts).collect();
        let (first_old, first_new) = (*old.first()?, *new.first()?);
        if indentation(first_old) == indentation(first_new.1) {
            return None;
        }
        if self.way != NamedBy::Digest {
            // The first line lost the indentation that the next line kept.
            let is_lost = first_new.1 == first_new.1.trim_start()
                && are_alike(first_new.1, first_old)
                && old.get(1).zip(new.get(1)).is_some_and(|(old, (_, new))| {
                    indentation(old) == indentation(new) && indentation(old) == indentation(first_old)
                });
            return if is_lost { report(first_old, first_new) } else { None };
        }
        let around = [self.place.above.last(), self.place.below.first()];
        let mut around = around.into_iter().flatten().map(String::as_str).filter(texts).peekable();
        let is_alone =
            around.peek().is_some() && around.all(|line| indentation(line) == indentation(first_old));
        let pairs = || old.iter().zip(&new);
        let are_moved = old.len() == new.len()
            && pairs().all(|(old, (_, new))| indentation(old) != indentation(new) && are_alike(new, old))
            && pairs().any(|(old, (_, new))| old.trim() != new.trim());
        if is_alone || are_moved { report(first_old, first_new) } else { None }
    }

    fn mark(&self) -> Option<Finding> {
        let own = self.place.own.as_deref()?;
        let fences = |lines: &mut dyn Iterator<Item = &str>| lines.filter(|line| is_fence(line)).count();
        let is_odd =
            fences(&mut self.lines.iter().copied()) % 2 != fences(&mut own.iter().map(String::as_str)) % 2;
        let (first, last) = (*self.lines.first()?, *self.lines.last()?);
        // In Markdown, a closed pair of fences belongs to the text, unless it encloses the whole file.
        let is_all = self.place.all().next().is_none()
            && matches!(first.trim(), "```markdown" | "```md")
            && last.trim() == "```";
        let may_be_mark = is_odd || is_all || self.kind != TextKind::Markdown;
        // The text is enclosed in a pair of tags, and no line in or near it has tags.
        let tag = |line: &str| {
            line.trim().strip_prefix('<').and_then(|line| line.strip_suffix('>')).map(str::to_owned)
        };
        let inside = self.lines.get(1..self.last()).unwrap_or_default();
        let mut near = self.place.all().chain(inside.iter().copied());
        let is_wrapped = tag(first).is_some_and(|name| tag(last) == Some(format!("/{name}")))
            && self.place.all().next().is_some()
            && !near.any(|line| line.contains("</") || line.trim_start().starts_with('<'));
        let is_mark = |line: &str| {
            is_wrapped || self.is_tag(line) || may_be_mark && is_fence(line) || is_patch_mark(line)
        };
        let had = |line: &str| own.iter().any(|own| own.trim() == line.trim());
        let ends = [(0, Some(first).filter(|_| self.place.starts_line)), (self.last(), Some(last))];
        let found = ends.into_iter().find(|(_, line)| line.is_some_and(|line| is_mark(line) && !had(line)));
        if let Some((index, _)) = found {
            return Self::at(Slip::Mark, index);
        }
        // Each line begins with the `+` or `-` of a patch, and no line around does.
        let is_signed =
            |line: &str| line.starts_with(['+', '-']) && !line.starts_with("--") && !line.starts_with("++");
        let has = |sign: char| self.lines.iter().any(|line| line.starts_with(sign));
        let has_removed = has('-');
        let is_of_patch =
            |line: &&str| is_signed(line) || has_removed && (line.is_empty() || line.starts_with(' '));
        let is_patch = self.place.starts_line
            && self.kind != TextKind::Markdown
            && has('+')
            && self.lines.iter().all(is_of_patch)
            && !self.place.all().any(is_signed)
            && !self.place.all().all(str::is_empty);
        if is_patch { Self::at(Slip::Mark, 0) } else { None }
    }

    /// Whether a line ends in a control token of a language model, or in a closing tag that neither the new
    /// text nor the lines around it open.
    fn is_tag(&self, line: &str) -> bool {
        const TOKENS: [&str; 5] = ["[/INST]", "<end_of_turn>", "<eos>", "<start_of_turn>", "|>"];
        let line = line.trim();
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-:".contains(c))
        };
        let is_opened = |name: &str| {
            let tag = format!("<{name}");
            self.new.contains(&tag) || self.place.all().any(|line| line.contains(&tag))
        };
        let closed = line.rsplit_once("</").and_then(|(_, name)| name.strip_suffix('>'));
        TOKENS.iter().any(|token| line.ends_with(token) && (*token != "|>" || line.contains("<|")))
            || closed.is_some_and(|name| is_name(name) && !is_opened(name))
    }

    fn escaped(&self) -> Option<Finding> {
        let own = self.place.own.as_deref()?;
        if self.has_entities(own) {
            return Self::at(Slip::Escaped, 0);
        }
        let is_strange = !self.place.all().any(|line| line.contains('\\'));
        let is_known = own.iter().any(|own| spelled_ends(own) > 0);
        // The text can begin inside quotes that the file opens.
        let before = |index: usize| if index == 0 { self.place.before.as_str() } else { "" };
        let texts = self.lines.iter().filter(|line| !line.trim().is_empty());
        let has_tab = |line: &&&str| line.trim_start().starts_with("\\t");
        let are_tabbed = texts.clone().filter(has_tab).count() > 1;
        let is_alone = texts.count() == 1 || are_tabbed;
        let is_spelled = |(index, line): &(usize, &&str)| {
            let before = before(*index);
            // A TeX command can also begin with `\n`.
            let is_command = line.trim_start().starts_with("\\n");
            let spelled = spelled_ends(&format!("{before}{line}")).saturating_sub(spelled_ends(before));
            let is_quoted = is_strange && has_escaped_quotes(&format!("{before}{line}"));
            is_quoted
                || !is_known
                    && (spelled > 1 && (is_alone || is_strange)
                        || spelled == 1 && is_alone && is_strange && !is_command)
        };
        let mut lines = self.lines.iter().enumerate().filter(|(_, line)| line.contains('\\'));
        let (index, _) = lines.find(is_spelled)?;
        Self::at(Slip::Escaped, index)
    }

    /// Whether entities stand for characters that the old text has, or are the only markup in and around the
    /// new text.
    fn has_entities(&self, own: &[String]) -> bool {
        const ENTITIES: [(&str, char); 4] = [("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&amp;", '&')];
        let (mut signs, is_tag) =
            (self.new.to_owned(), |line: &str| line.contains("</") || line.contains("/>"));
        for (entity, sign) in ENTITIES.into_iter().filter(|(entity, _)| self.new.contains(entity)) {
            let has = |what: &str| own.iter().any(|own| own.contains(what));
            let stands = own.iter().any(|own| own.contains(sign)) && !has(entity);
            // In markup a bare `&` is an error, and the edit may correct it.
            if stands && !self.place.all().any(|line| line.contains("&amp;") || sign == '&' && is_tag(line)) {
                return true;
            }
            signs = signs.replace(entity, "");
        }
        let is_markup = |line: &str| line.contains(['<', '&']);
        signs.len() < self.new.len()
            && self.kind != TextKind::Markdown
            && !is_markup(&signs)
            && !self.place.all().any(is_markup)
    }

    fn list(&self) -> Option<Finding> {
        let text = self.new.trim();
        let inner = text.strip_prefix('[')?.strip_suffix(']')?.trim();
        let is_quoted = ['"', '\'']
            .into_iter()
            .any(|quote| inner.len() > 1 && inner.starts_with(quote) && inner.ends_with(quote));
        let is_list = self.place.all().any(|line| line.trim_start().starts_with(['[', '"', '\'']));
        let is_there = self.place.all().any(|line| !line.trim().is_empty());
        // A list inside a line is an expression, not a list of lines sent by mistake.
        let is_line = self.place.before.trim().is_empty() && self.place.after.trim().is_empty();
        if is_quoted && is_there && is_line && !is_list { Self::at(Slip::List, 0) } else { None }
    }

    fn lost_blanks(&self, written: &str) -> Option<Finding> {
        let matter = |blanks: Blanks| match self.kind {
            TextKind::Markdown => blanks.spaces >= 2,
            TextKind::Tabular => blanks.tabs > 0,
            TextKind::Plain => false,
        };
        let has_blanks = |line: &str| {
            let text = line.trim_end_matches([' ', '\t']);
            !text.is_empty() && line.get(text.len()..).and_then(Blanks::of).is_some_and(matter)
        };
        let old = self.place.own.as_deref()?;
        // If the request quotes the blanks at the end, it drops them on purpose.
        let quoted = match self.way {
            NamedBy::Text(quoted) | NamedBy::Quoted(quoted) => lines_of(quoted),
            _ => Vec::new(),
        };
        let new: Vec<&str> = written.lines().collect();
        let (head, tail) = common_ends(old, &new);
        let mut pairs = old.iter().zip(&new).enumerate().take(old.len().min(new.len()) - tail).skip(head);
        let (index, _) = pairs.find(|(index, (old, new))| {
            has_blanks(old)
                && !has_blanks(new)
                && !quoted.get(*index).is_some_and(|quoted| has_blanks(quoted))
        })?;
        Self::at(Slip::LostBlanks, index)
    }

    /// Finds lines that the edit joins by accident. An old text of only line ends is replaced on purpose to
    /// join lines.
    fn joined(&self) -> Option<Finding> {
        let NamedBy::Text(old) = self.way else { return None };
        let goes_whole = self.new.is_empty() && self.place.starts_line;
        let ends_alone = old.trim_matches('\n').is_empty() || self.place.below.is_empty();
        let is_joined = old.ends_with('\n') && !self.new.ends_with('\n') && !ends_alone && !goes_whole;
        if is_joined { Self::at(Slip::Joined, self.last()) } else { None }
    }

    /// Finds a line that is torn: the place begins the line, and the new text adds lines between it and the
    /// rest of the line.
    fn torn(&self) -> Option<Finding> {
        let NamedBy::Text(old) = self.way else { return None };
        let ends = |text: &str| text.matches('\n').count();
        let word = old.rsplit(|c: char| !c.is_alphanumeric()).next().filter(|word| !word.is_empty());
        let word = word.or_else(|| old.get(old.len().checked_sub(1)?..))?;
        let is_torn = self.place.before.trim().is_empty()
            && !self.place.after.trim().is_empty()
            && ends(self.new) > ends(old)
            && !self.new.ends_with('\n')
            && !self.new.ends_with(word);
        if is_torn { Self::at(Slip::Torn, self.last()) } else { None }
    }

    fn placeholder(&self) -> Option<Finding> {
        let omits =
            |line: &str| (line.contains("..") || line.contains('…')) && is_elision(line) == Some(true);
        let had: HashSet<&str> = self.place.own.as_deref()?.iter().map(|line| line.trim()).collect();
        let index = self.lines.iter().position(|line| omits(line) && !had.contains(line.trim()))?;
        Self::at(Slip::Placeholder, index)
    }
}

/// Returns the number of lines that two texts have in common at their beginning, and of further lines at
/// their end.
fn common_ends(one: &[String], other: &[&str]) -> (usize, usize) {
    let head = one.iter().zip(other).take_while(|(one, other)| one == *other).count();
    let rest = one.len().min(other.len()) - head;
    let tail = one.iter().rev().zip(other.iter().rev()).take(rest).take_while(|(one, other)| one == *other);
    (head, tail.count())
}

/// Returns the line number with which a line begins, in a notation of programs that show lines, and whether
/// it can hardly be anything else.
fn number(line: &str) -> Option<(u64, bool)> {
    let NumberedLine { number, before, .. } = numbered(line)?;
    match before {
        NumberColumn::Tab => Some((number, true)),
        NumberColumn::Sign => Some((number, false)),
        NumberColumn::Alone => None,
        NumberColumn::Path(path) => {
            let is_path = path.contains(['/', '\\', '.']) && !path.contains([' ', '\t', '"', '\'']);
            is_path.then(|| (number, path.starts_with('/') || path.get(1..3) == Some(":\\")))
        }
    }
}

fn indentation(line: &str) -> &str {
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim() == "~~~"
}

/// Whether a line is a marker of a patch or a merge conflict, or the header of a file as the read tool shows
/// it.
fn is_patch_mark(line: &str) -> bool {
    ["<<<<<<<", ">>>>>>>", "*** Begin Patch", "*** End Patch", "*** End of File", "*** Update File", "@@ -"]
        .into_iter()
        .any(|mark| line.starts_with(mark))
        || line.starts_with('/') && line.contains(" lines ") && line.contains(" file_hash ")
}

/// Whether a line has at least two `\"`, and no other quotes, slashes or backslashes.
fn has_escaped_quotes(line: &str) -> bool {
    line.matches("\\\"").count() > 1 && !line.replace("\\\"", "").contains(['"', '\'', '`', '/', '\\'])
}

/// Counts escape sequences: `\n` and `\u00e9` outside quotes, and a `\t` at the beginning.
fn spelled_ends(line: &str) -> usize {
    let mut count = usize::from(line.trim_start().starts_with("\\t"));
    // Whether each kind of quote is open.
    let mut open = [(b'"', false), (b'\'', false), (b'`', false)];
    for (at, byte) in line.bytes().enumerate() {
        for (quote, is_open) in &mut open {
            *is_open ^= byte == *quote;
        }
        let is_number = |digits: &[u8]| digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
        let is_spelled = match line.as_bytes().get(at + 1..).unwrap_or_default() {
            [b'n', ..] => true,
            [b'u', digits @ ..] => is_number(digits.get(..4).unwrap_or_default()),
            _ => false,
        };
        if byte == b'\\' && is_spelled {
            count += usize::from(open.iter().all(|(_, is_open)| !is_open));
        }
    }
    count
}

fn is_telling(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() >= 2
}

/// Whether two lines are alike: at least 60 % of their pairs of adjacent characters are in both (Dice
/// coefficient), regardless of letter case and the length of blanks. Each line must have two letters or
/// digits.
fn are_alike(one: &str, other: &str) -> bool {
    let pairs = |line: &str| -> Vec<(char, char)> {
        let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
        let text: Vec<char> = format!(" {} ", words.join(" ")).chars().collect();
        let mut pairs: Vec<_> =
            text.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect();
        pairs.sort_unstable();
        pairs
    };
    let (one_pairs, mut other_pairs) = (pairs(one), pairs(other));
    let all = one_pairs.len() + other_pairs.len();
    let both = one_pairs
        .iter()
        .filter(|pair| {
            let found = other_pairs.binary_search(pair);
            found.map(|index| other_pairs.remove(index)).is_ok()
        })
        .count();
    is_telling(one) && is_telling(other) && both * 10 >= all * 3
}
