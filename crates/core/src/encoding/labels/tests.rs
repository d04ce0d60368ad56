use encoding_rs as w;

use super::*;
use crate::encoding::kind::Encoding;

/// Names of all of Python's codecs (`encodings.aliases` and the modules of `encodings`, 3.11), grouped by
/// their meaning here. `none`: the WHATWG standard has no such table, or the codec is no character encoding.
const PYTHON: &str = "
    ascii = ascii 646 ansi_x3.4_1968 ansi_x3_4_1968 ansi_x3.4_1986 cp367 csascii ibm367 iso646_us
        iso_646.irv_1991 iso_ir_6 us us_ascii
    big5 = big5 big5hkscs cp950 big5_tw csbig5 big5_hkscs hkscs 950 ms950 x_mac_trad_chinese
    windows-1250 = cp1250 1250 windows_1250
    windows-1251 = cp1251 1251 windows_1251
    windows-1252 = cp1252 1252 windows_1252
    windows-1253 = cp1253 1253 windows_1253
    windows-1254 = cp1254 iso8859_9 1254 windows_1254 csisolatin5 iso_8859_9 iso_8859_9_1989
        iso_ir_148 l5 latin5
    windows-1255 = cp1255 1255 windows_1255
    windows-1256 = cp1256 1256 windows_1256
    windows-1257 = cp1257 1257 windows_1257
    windows-1258 = cp1258 1258 windows_1258
    ibm866 = cp866 866 csibm866 ibm866
    windows-874 = cp874 iso8859_11 tis_620 thai iso_8859_11 iso_8859_11_2001 tis620 tis_620_0
        tis_620_2529_0 tis_620_2529_1 iso_ir_166
    shift_jis = cp932 shift_jis 932 ms932 mskanji ms_kanji csshiftjis shiftjis sjis s_jis
        x_mac_japanese
    euc-kr = cp949 euc_kr 949 ms949 uhc euckr korean ksc5601 ks_c_5601 ks_c_5601_1987 ksx1001
        ks_x_1001 x_mac_korean
    euc-jp = euc_jp eucjp ujis u_jis
    gb18030 = gb18030 gb18030_2000
    gbk = gb2312 gbk chinese csiso58gb231280 euc_cn euccn eucgb2312_cn gb2312_1980 gb2312_80
        iso_ir_58 936 cp936 ms936 x_mac_simp_chinese
    iso-2022-jp = iso2022_jp csiso2022jp iso2022jp iso_2022_jp
    latin1 = iso8859_1 latin_1 8859 cp819 csisolatin1 ibm819 iso8859 iso_8859_1 iso_8859_1_1987
        iso_ir_100 l1 latin latin1
    iso-8859-10 = iso8859_10 csisolatin6 iso_8859_10 iso_8859_10_1992 iso_ir_157 l6 latin6
    iso-8859-13 = iso8859_13 iso_8859_13 l7 latin7
    iso-8859-14 = iso8859_14 iso_8859_14 iso_8859_14_1998 iso_celtic iso_ir_199 l8 latin8
    iso-8859-15 = iso8859_15 iso_8859_15 l9 latin9
    iso-8859-16 = iso8859_16 iso_8859_16 iso_8859_16_2001 iso_ir_226 l10 latin10
    iso-8859-2 = iso8859_2 csisolatin2 iso_8859_2 iso_8859_2_1987 iso_ir_101 l2 latin2
    iso-8859-3 = iso8859_3 csisolatin3 iso_8859_3 iso_8859_3_1988 iso_ir_109 l3 latin3
    iso-8859-4 = iso8859_4 csisolatin4 iso_8859_4 iso_8859_4_1988 iso_ir_110 l4 latin4
    iso-8859-5 = iso8859_5 csisolatincyrillic cyrillic iso_8859_5 iso_8859_5_1988 iso_ir_144
    iso-8859-6 = iso8859_6 arabic asmo_708 csisolatinarabic ecma_114 iso_8859_6 iso_8859_6_1987
        iso_ir_127
    iso-8859-7 = iso8859_7 csisolatingreek ecma_118 elot_928 greek greek8 iso_8859_7 iso_8859_7_1987
        iso_ir_126
    iso-8859-8 = iso8859_8 csisolatinhebrew hebrew iso_8859_8 iso_8859_8_1988 iso_ir_138
    koi8-r = koi8_r cskoi8r
    koi8-u = koi8_u
    x-mac-cyrillic = mac_cyrillic maccyrillic
    macintosh = mac_roman macintosh macroman
    utf-16le+bom = utf_16 u16 utf16
    utf-16be = utf_16_be unicodebigunmarked utf_16be
    utf-16le = utf_16_le unicodelittleunmarked utf_16le
    utf-32le+bom = utf_32 u32 utf32
    utf-32be = utf_32_be utf_32be
    utf-32le = utf_32_le utf_32le
    utf-8 = utf_8 u8 utf utf8 utf8_ucs2 utf8_ucs4 cp65001
    utf-8+bom = utf_8_sig
    none = 037 1026 1125 1140 273 424 437 500 775 850 852 855 857 858 860 861 862 863 864 865 869
        ansi base64 base64_codec base_64 bz2 bz2_codec charmap cp037 cp1006 cp1026 cp1051 cp1125
        cp1140 cp1361 cp154 cp273 cp424 cp437 cp500 cp720 cp737 cp775 cp850 cp852 cp855 cp856 cp857
        cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp866u cp869 cp875 cp_gr cp_is csHPRoman8 csibm037
        csibm1026 csibm273 csibm424 csibm500 csibm855 csibm857 csibm858 csibm860 csibm861 csibm863
        csibm864 csibm865 csibm869 csiso2022kr cspc775baltic cspc850multilingual cspc862latinhebrew
        cspc8codepage437 cspcp852 csptcp154 cyrillic_asian dbcs ebcdic_cp_be ebcdic_cp_ca
        ebcdic_cp_ch ebcdic_cp_he ebcdic_cp_nl ebcdic_cp_us ebcdic_cp_wt euc_jis2004 euc_jis_2004
        euc_jisx0213 eucjis2004 eucjisx0213 hex hex_codec hp_roman8 hz hz_gb hz_gb_2312 hzgb ibm037
        ibm039 ibm1026 ibm1051 ibm1125 ibm1140 ibm273 ibm424 ibm437 ibm500 ibm775 ibm850 ibm852
        ibm855 ibm857 ibm858 ibm860 ibm861 ibm862 ibm863 ibm864 ibm865 ibm869 idna iso2022_jp_1
        iso2022_jp_2 iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext iso2022_kr iso2022jp_1 iso2022jp_2
        iso2022jp_2004 iso2022jp_3 iso2022jp_ext iso2022kr iso_2022_jp_1 iso_2022_jp_2
        iso_2022_jp_2004 iso_2022_jp_3 iso_2022_jp_ext iso_2022_kr jisx0213 johab koi8_t kz1048
        kz_1048 mac_arabic mac_centeuro mac_croatian mac_farsi mac_greek mac_iceland mac_latin2
        mac_romanian mac_turkish maccentraleurope macgreek maciceland maclatin2 macturkish mbcs
        ms1361 oem palmos pt154 ptcp154 punycode quopri quopri_codec quoted_printable
        quotedprintable r8 raw_unicode_escape rk1048 roman8 rot13 rot_13 ruscii s_jis_2004
        s_jisx0213 shift_jis_2004 shift_jisx0213 shiftjis2004 shiftjisx0213 sjis_2004 sjisx0213
        strk1048_2002 u7 undefined unicode_1_1_utf_7 unicode_escape utf7 utf_7 uu uu_codec zip zlib
        zlib_codec
";

/// All labels of the WHATWG Encoding Standard, grouped by their meaning here.
const WHATWG: &str = "
    latin1 = l1 cp819 latin1 ibm819 iso88591 iso8859-1 iso-ir-100 iso-8859-1 iso_8859-1 csisolatin1
        iso_8859-1:1987
    iso-8859-2 = l2 latin2 iso88592 iso8859-2 iso-ir-101 iso-8859-2 iso_8859-2 csisolatin2
        iso_8859-2:1987
    iso-8859-3 = l3 latin3 iso88593 iso8859-3 iso-8859-3 iso_8859-3 iso-ir-109 csisolatin3
        iso_8859-3:1988
    iso-8859-4 = l4 latin4 iso88594 iso8859-4 iso-ir-110 iso-8859-4 iso_8859-4 csisolatin4
        iso_8859-4:1988
    windows-1254 = l5 cp1254 latin5 x-cp1254 iso88599 iso8859-9 iso-ir-148 iso-8859-9 iso_8859-9
        csisolatin5 windows-1254 iso_8859-9:1989
    iso-8859-10 = l6 latin6 iso885910 iso8859-10 iso-ir-157 iso-8859-10 csisolatin6
    iso-8859-15 = l9 iso885915 iso8859-15 iso-8859-15 iso_8859-15 csisolatin9
    ibm866 = 866 cp866 ibm866 csibm866
    macintosh = mac macintosh csmacintosh x-mac-roman
    koi8-r = koi koi8 koi8-r koi8_r cskoi8r
    gbk = gbk x-gbk gb2312 gb_2312 chinese csgb2312 iso-ir-58 gb_2312-80 csiso58gb231280
    big5 = big5 csbig5 cn-big5 x-x-big5 big5-hkscs
    utf-8 = utf8 utf-8 unicode20utf8 unicode11utf8 x-unicode20utf8 unicode-1-1-utf-8
    shift_jis = sjis ms932 x-sjis ms_kanji shift-jis shift_jis csshiftjis windows-31j
    utf-16le = ucs-2 unicode utf-16le csunicode unicodefeff iso-10646-ucs-2
    ascii = ascii us-ascii ansi_x3.4-1968
    iso-8859-7 = greek greek8 iso88597 ecma-118 elot_928 iso8859-7 iso-ir-126 iso-8859-7 iso_8859-7
        sun_eu_greek iso_8859-7:1987 csisolatingreek
    windows-1250 = cp1250 x-cp1250 windows-1250
    windows-1251 = cp1251 x-cp1251 windows-1251
    windows-1252 = cp1252 x-cp1252 windows-1252
    windows-1253 = cp1253 x-cp1253 windows-1253
    windows-1255 = cp1255 x-cp1255 windows-1255
    utf-16le+bom = utf-16
    windows-1256 = cp1256 x-cp1256 windows-1256
    windows-1257 = cp1257 x-cp1257 windows-1257
    windows-1258 = cp1258 x-cp1258 windows-1258
    iso-8859-6 = arabic ecma-114 iso88596 asmo-708 iso8859-6 iso-8859-6 iso_8859-6 iso-ir-127
        csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i iso_8859-6:1987 csisolatinarabic
    iso-8859-8 = visual hebrew iso88598 iso8859-8 iso-8859-8 iso_8859-8 iso-ir-138 csiso88598e
        iso-8859-8-e iso_8859-8:1988 csisolatinhebrew
    euc-kr = korean euc-kr ksc5601 cseuckr ksc_5601 iso-ir-149 windows-949 csksc56011987
        ks_c_5601-1987 ks_c_5601-1989
    euc-jp = euc-jp x-euc-jp cseucpkdfmtjapanese
    koi8-u = koi8-u koi8-ru
    windows-874 = tis-620 dos-874 iso885911 iso8859-11 iso-8859-11 windows-874
    gb18030 = gb18030
    iso-8859-8-i = logical csiso88598i iso-8859-8-i
    iso-8859-5 = iso88595 cyrillic iso8859-5 iso-ir-144 iso-8859-5 iso_8859-5 iso_8859-5:1988
        csisolatincyrillic
    utf-16be = utf-16be unicodefffe
    iso-8859-13 = iso885913 iso8859-13 iso-8859-13
    iso-8859-14 = iso885914 iso8859-14 iso-8859-14
    none = hz-gb-2312 iso-2022-cn iso-2022-kr csiso2022kr replacement x-user-defined iso-2022-cn-ext
    iso-8859-16 = iso-8859-16
    iso-2022-jp = iso-2022-jp csiso2022jp
    x-mac-cyrillic = x-mac-cyrillic x-mac-ukrainian
";

fn meaning(label: &str) -> String {
    Label::parse(label).map_or("none".to_owned(), |label| {
        format!("{}{}", label.encoding.name(), if label.writes_bom { "+bom" } else { "" })
    })
}

/// Checks that every name in `list` has the meaning at the start of its paragraph. Returns their number.
fn check(list: &str) -> usize {
    let (mut expected, mut count) = ("", 0);
    let words: Vec<&str> = list.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        if words.get(index + 1) == Some(&"=") {
            expected = word;
        } else if *word != "=" {
            assert_eq!(meaning(word), expected, "{word}");
            assert_eq!(meaning(&word.to_uppercase().replace('_', " - ")), expected, "{word}");
            count += 1;
        }
    }
    count
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn the_names_of_python() {
    assert_eq!(check(PYTHON), 445);
}

#[test]
#[cfg_attr(miri, ignore = "too large for Miri")]
fn the_labels_of_whatwg() {
    assert_eq!(check(WHATWG), 228);
    for label in WHATWG.split_whitespace() {
        let Some(table) = encoding_rs::Encoding::for_label(label.as_bytes()) else { continue };
        match Label::parse(label).map(|label| label.encoding) {
            Some(Encoding::Legacy(ours)) => assert_eq!(ours, table, "{label}"),
            Some(Encoding::Latin1 | Encoding::Ascii) => assert_eq!(table, w::WINDOWS_1252),
            Some(unicode) => assert_eq!(unicode.name(), table.name().to_lowercase()),
            None => assert!(matches!(table.name(), "replacement" | "x-user-defined"), "{label}"),
        }
    }
}

#[test]
fn a_label_has_one_meaning_and_a_name_is_a_label() {
    let mut labels: Vec<&str> = ROWS.iter().chain(WITH_BOM).flat_map(LabelRow::labels).collect();
    assert!(labels.iter().all(|label| label.len() <= LONGEST && fold(label).as_deref() == Some(label)));
    labels.sort_unstable();
    assert!(labels.windows(2).all(|two| two[0] != two[1]), "{labels:?}");
    for LabelRow(name, encoding, _) in ROWS {
        assert_eq!(Label::parse(name), Some(Label { encoding: *encoding, writes_bom: false }));
        assert_eq!(encoding.name(), *name);
    }
    for LabelRow(name, encoding, _) in WITH_BOM {
        assert_eq!(Label::parse(name), Some(Label { encoding: *encoding, writes_bom: true }));
    }
    for (word, meant) in WORDS {
        assert!(Label::parse(word).is_none() && Label::parse(meant).is_some(), "{word}");
    }
}

#[test]
fn what_is_no_label() {
    for text in
        ["", " ", "-", "é", "utf-8\0", "utf\u{2011}8", "x-user-defined", "replacement", "utf-8;utf-16"]
    {
        assert_eq!(meaning(text), "none", "{text:?}");
    }
    assert_eq!(meaning(&"utf8".repeat(1_000_000)), "none");
    assert_eq!(Label::suggestion(&"utf8".repeat(1_000_000)), None);
}

#[test]
fn a_slip_is_recognised_and_a_number_is_not_changed() {
    let suggestions = |texts: &[&str]| {
        let line = |text: &&str| format!("{text}: {}", Label::suggestion(text).unwrap_or("?"));
        texts.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(suggestions(&[
        "uft-8", "uttf8", "utf-8-bom", "UTF-8 with BOM", "utf-8-si", "lattin-1", "latin", "Shift-JSI", "shift_jiss",
        "windos-1252", "win1251", "ANSI", "ucs-4", "utf-16-lee", "utf-17", "cp437", "cp850", "iso-8859-12", "iso-2022-kr",
        "hz", "klingon", "",
    ]), @"
    uft-8: utf-8
    uttf8: utf-8
    utf-8-bom: utf-8-sig
    UTF-8 with BOM: utf-8-sig
    utf-8-si: utf-8-sig
    lattin-1: latin1
    latin: latin1
    Shift-JSI: shift_jis
    shift_jiss: shift_jis
    windos-1252: windows-1252
    win1251: windows-1251
    ANSI: windows-1252
    ucs-4: utf-32
    utf-16-lee: utf-16le
    utf-17: ?
    cp437: ?
    cp850: ?
    iso-8859-12: ?
    iso-2022-kr: ?
    hz: ?
    klingon: ?
    : ?
    ");
}
