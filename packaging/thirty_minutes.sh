# The checks of a release on a real Mac: paste it part by part. Each `edit` prints `two`.
edit() {
  echo one >$1/a.txt
  mcp-text-editor call --root $1 patch_text_file_contents file_path=$1/a.txt old_string=one new_string=two
  cat $1/a.txt
}

# 1. Signature and block: `Developer ID`, `accepted`, no dialog after a download by Safari.
codesign -dv $(which mcp-text-editor); spctl -a -vvt install $(which mcp-text-editor)

# 2. The bundle: once Claude Desktop has it, its tools are there, even at `-rw-------`.
ls -l ~/Library/Application\ Support/Claude/Claude\ Extensions/*/server/*

# 3. Privacy: ask Claude Desktop to read this file. A question, or an error, names the server; once allowed, it stays so after an update.
ls ~/Documents/a.txt

# 4. exFAT and extended attributes: a warning on exFAT alone; `user.a`; neither `.mte-*` nor `._.mte-*`.
mkdir /tmp/t; hdiutil create -size 50m -fs ExFAT -volname X /tmp/x; hdiutil attach /tmp/x.dmg
edit /tmp/t; xattr -w user.a b /tmp/t/a.txt; edit /tmp/t; xattr -l /tmp/t/a.txt; edit /Volumes/X; ls -a /tmp/t /Volumes/X

# 5. iCloud, then without a network: `not_downloaded` at once, also for a folder.
brctl evict ~/Library/Mobile\ Documents/com~apple~CloudDocs/a.txt
mcp-text-editor call --root ~/Library/Mobile\ Documents/com~apple~CloudDocs get_text_file_contents \
  file_path=$HOME/Library/Mobile\ Documents/com~apple~CloudDocs/a.txt

# 6. Names: a decomposed accent finds the composed name, and prints `two`.
mv /tmp/t/a.txt $'/tmp/t/\u00e9'
mcp-text-editor call --root /tmp/t get_text_file_contents file_path=$'/tmp/t/e\u0301'

# 7. The tests: nothing fails.
cargo test --workspace --locked
