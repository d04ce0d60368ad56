# The checks of a release on a real Windows, for PowerShell 7: paste it part by part. Each `Edit` prints `two`.
New-Item -ItemType Directory C:\t
function Edit($d) {
  'one' > "$d\a.txt"
  mcp-text-editor call --root $d patch_text_file_contents "file_path=$d\a.txt" old_string=one new_string=two
  Get-Content "$d\a.txt"
}

# 1. Signature and block: `Valid`, and no block with state `On`.
Edit C:\t; Get-AuthenticodeSignature (Get-Command mcp-text-editor).Source; (Get-MpComputerStatus).SmartAppControlState

# 2. State directory: the edit, and no word of a missing journal, also with an agent's sandbox installed.
Edit C:\t; mcp-text-editor history; icacls $HOME\.local

# 3. A file that another program holds: a warning of an edit in place.
$h = [IO.File]::Open('C:\t\a.txt', 'Open', 'Read', 'ReadWrite'); Edit C:\t; $h.Close()

# 4. A search beside `git clean`, in a large repository C:\big: nothing is *in use*.
$j = Start-Job { mcp-text-editor call --root C:\big search_text_files pattern=zzz }
1..200 | ForEach-Object { New-Item -ItemType Directory C:\big\x\y | Out-Null; git -C C:\big clean -fdxq }; Receive-Job $j -Wait

# 5. OneDrive and a share: `two`, and once the file has its cloud, `two` from there.
Edit $HOME\OneDrive; Edit '\\localhost\C$\t'; attrib +u -p $HOME\OneDrive\a.txt
mcp-text-editor call --root $HOME\OneDrive get_text_file_contents "file_path=$HOME\OneDrive\a.txt"

# 6. Controlled Folder Access, as administrator: `permission_denied` with the name of the setting, not `not_found`.
Set-MpPreference -EnableControlledFolderAccess Enabled; Edit $HOME\Documents; Set-MpPreference -EnableControlledFolderAccess Disabled

# 7. The bundle: Claude Desktop reads a file after `mcp-text-editor.mcpb` was opened with it.

# 8. Names: composed and decomposed accents are two files.
'x' > "C:\t\$([char]0xe9)"; mcp-text-editor call --root C:\t list_text_files path=C:\t

# 9. The tests: nothing fails.
cargo test --workspace --locked
