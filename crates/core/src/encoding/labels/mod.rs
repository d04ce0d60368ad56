//! The names of encodings that clients can send: those of the WHATWG Encoding Standard and those of Python's
//! codecs, in any letter case, with or without punctuation. Finds the encoding for a label, or suggests a
//! label for an unknown one. No other source file has a name of an encoding.

#[cfg(test)]
mod tests;

use encoding_rs as w;

use crate::encoding::kind::Encoding;

/// The meaning of a client's label for an encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Label {
    /// The encoding.
    pub encoding: Encoding,
    /// Whether a new file with this label starts with a byte order mark. It does only with `utf-16` and
    /// `utf-32`, which are little-endian, and with `utf-8-sig`.
    pub writes_bom: bool,
}

/// The maximum length of a folded word. Every label is shorter, even with one extra letter.
const LONGEST: usize = 24;

impl Label {
    /// Returns the meaning of `text`, a label of the WHATWG Encoding Standard or the name or alias of a
    /// Python codec. Letter case, `-`, `_`, `.`, `:` and white space are ignored. `None` for anything else,
    /// including the labels `replacement` and `x-user-defined`. If the two lists disagree about a name, the
    /// standard's meaning applies, except that ISO-8859-1 and ASCII mean themselves and not windows-1252.
    ///
    /// ```
    /// use mcp_text_editor_core::encoding::{Encoding, Label};
    ///
    /// let label = Label::parse("Shift-JIS").unwrap();
    /// assert_eq!(label, Label::parse("cp932").unwrap());
    /// assert_eq!(label.encoding.name(), "shift_jis");
    /// assert_eq!(label.encoding.encode("日本")?, b"\x93\xFA\x96\x7B");
    /// assert!(label.encoding.encode("é").is_err()); // never written as something else
    ///
    /// assert_eq!(Label::parse("latin-1").unwrap().encoding, Encoding::Latin1);
    /// assert!(Label::parse("utf-16").unwrap().writes_bom);
    /// assert_eq!(Label::parse("uft-8"), None);
    /// assert_eq!(Label::suggestion("uft-8"), Some("utf-8"));
    /// # Ok::<(), mcp_text_editor_core::encoding::Unencodable>(())
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let folded = fold(text)?;
        let find = |rows: &[LabelRow], writes_bom| {
            let LabelRow(_, encoding, _) =
                rows.iter().find(|row| row.labels().any(|label| label == folded))?;
            Some(Self { encoding: *encoding, writes_bom })
        };
        find(WITH_BOM, true).or_else(|| find(ROWS, false))
    }

    /// Suggests a label for an unknown one: a label that is one typing error away (an extra, missing or wrong
    /// letter, or two swapped neighbours), or a label for which people use the unknown word. `None` if there
    /// is no such label. A digit never counts as a typing error, because `cp850` is not `cp950`.
    #[must_use]
    pub fn suggestion(text: &str) -> Option<&'static str> {
        let folded = fold(text)?;
        if let Some((_, meant)) = WORDS.iter().find(|(word, _)| *word == folded) {
            return Some(meant);
        }
        let windows = folded.strip_prefix("win").map(|number| format!("windows{number}"));
        let near = |label: &str| {
            windows.as_deref() == Some(label)
                || (folded.len() >= 3 && label.len() >= 3 && slip(label, &folded))
        };
        let mut rows = ROWS.iter().chain(WITH_BOM);
        rows.find(|row| row.labels().any(near)).map(|LabelRow(name, ..)| *name)
    }
}

/// Folds a word to lower case without punctuation; `None` if it cannot be a label.
fn fold(text: &str) -> Option<String> {
    let mut folded = String::new();
    for character in text.chars() {
        match character {
            '-' | '_' | '.' | ':' => {}
            _ if character.is_ascii_whitespace() => {}
            _ if character.is_ascii_alphanumeric() && folded.len() < LONGEST => {
                folded.push(character.to_ascii_lowercase());
            }
            _ => return None,
        }
    }
    Some(folded)
}

/// Tells whether two words are one typing error apart: an extra, missing or wrong letter, or two swapped
/// neighbours.
fn slip(a: &str, b: &str) -> bool {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<_>>();
    if digits(a) != digits(b) {
        return false;
    }
    let common = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let start = common(a, b);
    let (mut a, mut b) = (a.get(start..).unwrap_or_default(), b.get(start..).unwrap_or_default());
    while let (Some((x, rest_of_a)), Some((y, rest_of_b))) = (a.split_last(), b.split_last())
        && x == y
    {
        (a, b) = (rest_of_a, rest_of_b);
    }
    match (a, b) {
        ([_, _], [_, _]) => a.iter().eq(b.iter().rev()),
        _ => a.len() <= 1 && b.len() <= 1,
    }
}

/// An encoding, the name to suggest for it, and its labels, folded.
struct LabelRow(pub(super) &'static str, pub(super) Encoding, pub(super) &'static str);

/// The labels with which a new file gets a byte order mark.
const WITH_BOM: &[LabelRow] = &[
    LabelRow("utf-8-sig", Encoding::Utf8, "utf8sig"),
    LabelRow("utf-16", Encoding::Utf16Le, "utf16 u16"),
    LabelRow("utf-32", Encoding::Utf32Le, "utf32 u32"),
];

/// Every other label. If the WHATWG standard and Python disagree about a name, the standard's table applies,
/// except for ISO-8859-1 and ASCII. Codecs for which the standard has no table (cp437, hz, utf-7 …) are
/// missing on purpose.
static ROWS: &[LabelRow] = &[
    LabelRow(
        "utf-8",
        Encoding::Utf8,
        "utf8 u8 utf cp65001 unicode11utf8 unicode20utf8 xunicode20utf8 utf8ucs2 utf8ucs4",
    ),
    LabelRow(
        "utf-16le",
        Encoding::Utf16Le,
        "utf16le unicode ucs2 csunicode unicodefeff iso10646ucs2 unicodelittleunmarked",
    ),
    LabelRow("utf-16be", Encoding::Utf16Be, "utf16be unicodefffe unicodebigunmarked"),
    LabelRow("utf-32le", Encoding::Utf32Le, "utf32le"),
    LabelRow("utf-32be", Encoding::Utf32Be, "utf32be"),
    LabelRow(
        "latin1",
        Encoding::Latin1,
        "latin1 latin l1 8859 iso8859 iso88591 iso885911987 isoir100 csisolatin1 cp819 ibm819",
    ),
    LabelRow(
        "ascii",
        Encoding::Ascii,
        "ascii usascii us csascii 646 iso646us iso646irv1991 isoir6 cp367 ibm367 ansix341968 ansix341986",
    ),
    LabelRow(
        "shift_jis",
        Encoding::Legacy(w::SHIFT_JIS),
        "shiftjis sjis xsjis csshiftjis mskanji cp932 ms932 932 windows31j xmacjapanese",
    ),
    LabelRow("euc-jp", Encoding::Legacy(w::EUC_JP), "eucjp xeucjp ujis cseucpkdfmtjapanese"),
    LabelRow("iso-2022-jp", Encoding::Legacy(w::ISO_2022_JP), "iso2022jp csiso2022jp"),
    LabelRow(
        "gbk",
        Encoding::Legacy(w::GBK),
        "gbk xgbk cp936 ms936 936 gb2312 gb231280 gb23121980 csgb2312 csiso58gb231280 isoir58 chinese euccn \
         eucgb2312cn xmacsimpchinese",
    ),
    LabelRow("gb18030", Encoding::Legacy(w::GB18030), "gb18030 gb180302000"),
    LabelRow(
        "big5",
        Encoding::Legacy(w::BIG5),
        "big5 csbig5 cnbig5 xxbig5 big5tw big5hkscs hkscs cp950 ms950 950 xmactradchinese",
    ),
    LabelRow(
        "euc-kr",
        Encoding::Legacy(w::EUC_KR),
        "euckr cseuckr korean windows949 cp949 ms949 949 uhc ksc5601 ksc56011987 ksc56011989 csksc56011987 ksx1001 \
         isoir149 xmackorean",
    ),
    LabelRow("windows-1250", Encoding::Legacy(w::WINDOWS_1250), "windows1250 cp1250 xcp1250 1250"),
    LabelRow("windows-1251", Encoding::Legacy(w::WINDOWS_1251), "windows1251 cp1251 xcp1251 1251"),
    LabelRow("windows-1252", Encoding::Legacy(w::WINDOWS_1252), "windows1252 cp1252 xcp1252 1252"),
    LabelRow("windows-1253", Encoding::Legacy(w::WINDOWS_1253), "windows1253 cp1253 xcp1253 1253"),
    LabelRow(
        "windows-1254",
        Encoding::Legacy(w::WINDOWS_1254),
        "windows1254 cp1254 xcp1254 1254 iso88599 iso885991989 latin5 l5 isoir148 csisolatin5",
    ),
    LabelRow("windows-1255", Encoding::Legacy(w::WINDOWS_1255), "windows1255 cp1255 xcp1255 1255"),
    LabelRow("windows-1256", Encoding::Legacy(w::WINDOWS_1256), "windows1256 cp1256 xcp1256 1256"),
    LabelRow("windows-1257", Encoding::Legacy(w::WINDOWS_1257), "windows1257 cp1257 xcp1257 1257"),
    LabelRow("windows-1258", Encoding::Legacy(w::WINDOWS_1258), "windows1258 cp1258 xcp1258 1258"),
    LabelRow(
        "windows-874",
        Encoding::Legacy(w::WINDOWS_874),
        "windows874 cp874 dos874 tis620 tis6200 tis62025290 tis62025291 isoir166 iso885911 iso8859112001 thai",
    ),
    LabelRow(
        "iso-8859-2",
        Encoding::Legacy(w::ISO_8859_2),
        "iso88592 iso885921987 latin2 l2 isoir101 csisolatin2",
    ),
    LabelRow(
        "iso-8859-3",
        Encoding::Legacy(w::ISO_8859_3),
        "iso88593 iso885931988 latin3 l3 isoir109 csisolatin3",
    ),
    LabelRow(
        "iso-8859-4",
        Encoding::Legacy(w::ISO_8859_4),
        "iso88594 iso885941988 latin4 l4 isoir110 csisolatin4",
    ),
    LabelRow(
        "iso-8859-5",
        Encoding::Legacy(w::ISO_8859_5),
        "iso88595 iso885951988 cyrillic isoir144 csisolatincyrillic",
    ),
    LabelRow(
        "iso-8859-6",
        Encoding::Legacy(w::ISO_8859_6),
        "iso88596 iso885961987 iso88596e iso88596i csiso88596e csiso88596i arabic asmo708 ecma114 isoir127 \
         csisolatinarabic",
    ),
    LabelRow(
        "iso-8859-7",
        Encoding::Legacy(w::ISO_8859_7),
        "iso88597 iso885971987 greek greek8 elot928 ecma118 suneugreek isoir126 csisolatingreek",
    ),
    LabelRow(
        "iso-8859-8",
        Encoding::Legacy(w::ISO_8859_8),
        "iso88598 iso885981988 iso88598e csiso88598e hebrew visual isoir138 csisolatinhebrew",
    ),
    LabelRow("iso-8859-8-i", Encoding::Legacy(w::ISO_8859_8_I), "iso88598i csiso88598i logical"),
    LabelRow(
        "iso-8859-10",
        Encoding::Legacy(w::ISO_8859_10),
        "iso885910 iso8859101992 latin6 l6 isoir157 csisolatin6",
    ),
    LabelRow("iso-8859-13", Encoding::Legacy(w::ISO_8859_13), "iso885913 latin7 l7"),
    LabelRow(
        "iso-8859-14",
        Encoding::Legacy(w::ISO_8859_14),
        "iso885914 iso8859141998 latin8 l8 isoceltic isoir199",
    ),
    LabelRow("iso-8859-15", Encoding::Legacy(w::ISO_8859_15), "iso885915 latin9 l9 csisolatin9"),
    LabelRow("iso-8859-16", Encoding::Legacy(w::ISO_8859_16), "iso885916 iso8859162001 latin10 l10 isoir226"),
    LabelRow("koi8-r", Encoding::Legacy(w::KOI8_R), "koi8r koi8 koi cskoi8r"),
    LabelRow("koi8-u", Encoding::Legacy(w::KOI8_U), "koi8u koi8ru"),
    LabelRow("macintosh", Encoding::Legacy(w::MACINTOSH), "macintosh csmacintosh macroman xmacroman mac"),
    LabelRow("x-mac-cyrillic", Encoding::Legacy(w::X_MAC_CYRILLIC), "xmaccyrillic maccyrillic xmacukrainian"),
    LabelRow("ibm866", Encoding::Legacy(w::IBM866), "ibm866 cp866 866 csibm866"),
];

/// Words that people use for an encoding, folded. Neither list has them as labels, and no call accepts them;
/// errors suggest the label beside them.
const WORDS: &[(&str, &str)] = &[
    ("utf8bom", "utf-8-sig"),
    ("utf8withbom", "utf-8-sig"),
    ("utf8signature", "utf-8-sig"),
    ("utf16bom", "utf-16"),
    ("utf32bom", "utf-32"),
    ("ucs4", "utf-32"),
    ("ansi", "windows-1252"),
    ("eucjpms", "euc-jp"),
    ("eucjpwin", "euc-jp"),
    ("sjiswin", "shift_jis"),
    ("jis", "iso-2022-jp"),
];

impl LabelRow {
    /// Returns the labels of the row, folded.
    fn labels(&self) -> impl Iterator<Item = &'static str> {
        self.2.split_ascii_whitespace()
    }
}

impl Encoding {
    /// Returns the canonical name, in lower case, from which [`Label::parse`](self::Label::parse) gives this
    /// encoding again. For a table that has no label here, returns its name in the WHATWG Encoding Standard.
    #[must_use]
    pub fn name(self) -> &'static str {
        let row = ROWS.iter().find(|LabelRow(_, candidate, _)| *candidate == self);
        row.map_or_else(
            || if let Self::Legacy(table) = self { table.name() } else { "" },
            |LabelRow(name, ..)| *name,
        )
    }
}
