// What Wine 8 lacks of Windows, as the `bcryptprimitives.dll` that Rust's std loads at the start of every program; tests/windows/README.md
// says why each is needed. Built and put into Wine's system32 by `.ci/other-systems`. On Windows nothing of this is used.
//
// - ProcessPrng, which is all that std wants of that library.
// - A rename over a file that is open (FileRenameInfoEx with REPLACE_IF_EXISTS and POSIX_SEMANTICS), and a delete of one: the name goes at
//   once, as on NTFS. Here in two steps: the old file is first moved to a directory of its own, on the same drive. Whoever finds no file by
//   its name looks again between two renames, so that to an open they are one.
// - Of a name longer than 255 units Windows says that it is none; Wine that there is no such file.
// - With MTE_MANDATORY=1: a locked range can be neither read nor written through another handle. Wine's locks bind nobody but lockers.
//
// Functions of other libraries are taken over by overwriting what the program's import table says of them.
#include <windows.h>
#include <winternl.h>
#include <wchar.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);  // RtlGenRandom
__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *to, SIZE_T size) { return SystemFunction036(to, (ULONG)size); }

enum { RENAME = 10, RENAME_EX = 22, DISPOSITION_EX = 21, NT_DISPOSITION_EX = 64 };
enum { REPLACE_IF_EXISTS = 1, POSIX_SEMANTICS = 2, LOCKED = 0xC0000054, NOT_FOUND = 0xC0000034, NO_SUCH_FILE = 0xC000000F, NO_NAME = 0xC0000033 };
typedef struct { ULONG flags; HANDLE root; ULONG bytes; WCHAR name[1100]; } Rename;

static BOOL done(NTSTATUS status) {
  if (status) SetLastError(RtlNtStatusToDosError(status));
  return !status;
}
static const WCHAR *without_prefix(const WCHAR *name) { return wcsncmp(name, L"\\\\?\\", 4) ? name : name + 4; }
static NTSTATUS rename_to(HANDLE file, const WCHAR *name, ULONG flags) {
  IO_STATUS_BLOCK io;
  Rename to = {.flags = flags};
  swprintf(to.name, 1100, L"\\??\\%ls", without_prefix(name));
  to.bytes = wcslen(to.name) * sizeof(WCHAR);
  return NtSetInformationFile(file, &io, &to, sizeof to, (FILE_INFORMATION_CLASS)RENAME);
}
static HANDLE open_name(const WCHAR *name) {
  return CreateFileW(name, DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, 0, OPEN_EXISTING,
                     FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, 0);
}
// Whoever has the file open keeps it. `name` tells the drive: C: is in Wine's prefix, Z: is the machine.
static NTSTATUS move_away(HANDLE file, const WCHAR *name) {
  static LONG count;
  WCHAR away[200];
  const WCHAR *directory = (without_prefix(name)[0] | 32) == 'c' ? L"C:\\trash" : L"Z:\\tmp\\mte-trash";
  swprintf(away, 200, L"%ls\\%lu-%ld-%llx", directory, GetCurrentProcessId(), InterlockedIncrement(&count), __builtin_ia32_rdtsc());
  return rename_to(file, away, 0);
}

// Held between the two steps, by all processes.
static HANDLE renaming;
static BOOL has_long_name(const WCHAR *path, size_t length) {
  size_t name = 0;
  for (size_t i = 0; i < length; i++) {
    name = path[i] == '\\' || path[i] == '/' ? 0 : name + 1;
    if (name > 255) return TRUE;
  }
  return FALSE;
}
static HANDLE(WINAPI *real_open)(const WCHAR *, DWORD, DWORD, SECURITY_ATTRIBUTES *, DWORD, DWORD, HANDLE);
static HANDLE WINAPI my_open(const WCHAR *name, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD how, DWORD flags, HANDLE like) {
  if (has_long_name(name, wcslen(name))) return SetLastError(ERROR_INVALID_NAME), INVALID_HANDLE_VALUE;
  HANDLE file = real_open(name, access, share, security, how, flags, like);
  if (file != INVALID_HANDLE_VALUE || GetLastError() != ERROR_FILE_NOT_FOUND) return file;
  WaitForSingleObject(renaming, INFINITE);
  file = real_open(name, access, share, security, how, flags, like);
  DWORD error = GetLastError();
  ReleaseMutex(renaming);
  SetLastError(error);
  return file;
}
static HANDLE(WINAPI *real_find)(const WCHAR *, FINDEX_INFO_LEVELS, void *, FINDEX_SEARCH_OPS, void *, DWORD);
static HANDLE WINAPI my_find(const WCHAR *name, FINDEX_INFO_LEVELS level, void *found, FINDEX_SEARCH_OPS what, void *filter, DWORD flags) {
  HANDLE first = real_find(name, level, found, what, filter, flags);
  if (first != INVALID_HANDLE_VALUE || GetLastError() != ERROR_FILE_NOT_FOUND) return first;
  WaitForSingleObject(renaming, INFINITE);
  first = real_find(name, level, found, what, filter, flags);
  DWORD error = GetLastError();
  ReleaseMutex(renaming);
  SetLastError(error);
  return first;
}
typedef NTSTATUS(NTAPI *Open)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *, ULONG, ULONG, ULONG, ULONG, void *, ULONG);
static Open real_nt_open;
static NTSTATUS NTAPI my_nt_open(HANDLE *file, ACCESS_MASK access, OBJECT_ATTRIBUTES *which, IO_STATUS_BLOCK *io, LARGE_INTEGER *size,
                                 ULONG attributes, ULONG share, ULONG how, ULONG options, void *extended, ULONG length) {
  if (has_long_name(which->ObjectName->Buffer, which->ObjectName->Length / sizeof(WCHAR))) return NO_NAME;
  NTSTATUS status = real_nt_open(file, access, which, io, size, attributes, share, how, options, extended, length);
  if ((ULONG)status != NOT_FOUND && (ULONG)status != NO_SUCH_FILE) return status;
  WaitForSingleObject(renaming, INFINITE);
  status = real_nt_open(file, access, which, io, size, attributes, share, how, options, extended, length);
  ReleaseMutex(renaming);
  return status;
}

static BOOL(WINAPI *real_set)(HANDLE, int, void *, DWORD);
static BOOL rename_over(HANDLE file, const Rename *given);
static BOOL WINAPI my_set(HANDLE file, int what, void *to, DWORD size) {
  if (what == DISPOSITION_EX) {
    IO_STATUS_BLOCK io;
    BY_HANDLE_FILE_INFORMATION is;
    WCHAR name[1100];
    FILE_DISPOSITION_INFO gone = {TRUE}, stays = {FALSE};
    // A directory that is open would keep its name. Whether it is empty is told by the first call alone.
    if (GetFileInformationByHandle(file, &is) && is.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY &&
        GetFinalPathNameByHandleW(file, name, 1100, 0) - 1 < 1099 && real_set(file, FileDispositionInfo, &gone, sizeof gone)) {
      real_set(file, FileDispositionInfo, &stays, sizeof stays);
      move_away(file, name);
      return real_set(file, FileDispositionInfo, &gone, sizeof gone);
    }
    return done(NtSetInformationFile(file, &io, to, size, (FILE_INFORMATION_CLASS)NT_DISPOSITION_EX));
  }
  if (what != RENAME_EX) return real_set(file, what, to, size);
  WaitForSingleObject(renaming, INFINITE);
  BOOL renamed = rename_over(file, to);
  DWORD error = GetLastError();
  ReleaseMutex(renaming);
  SetLastError(error);
  return renamed;
}
static BOOL rename_over(HANDLE file, const Rename *given) {
  WCHAR name[1024];
  if (given->root || given->bytes >= sizeof name - sizeof(WCHAR)) return done(0xC00000BB);  // not supported
  memcpy(name, given->name, given->bytes);
  name[given->bytes / sizeof(WCHAR)] = 0;
  if (has_long_name(name, wcslen(name))) return SetLastError(ERROR_INVALID_NAME), FALSE;
  HANDLE old = given->flags & POSIX_SEMANTICS ? open_name(name) : INVALID_HANDLE_VALUE;
  if (old != INVALID_HANDLE_VALUE) {
    BY_HANDLE_FILE_INFORMATION a, b;
    BOOL is_same = GetFileInformationByHandle(old, &a) && GetFileInformationByHandle(file, &b) &&
                   a.nFileIndexLow == b.nFileIndexLow && a.nFileIndexHigh == b.nFileIndexHigh;
    NTSTATUS status = is_same || !(given->flags & REPLACE_IF_EXISTS) ? 0 : move_away(old, name);
    FILE_DISPOSITION_INFO gone = {TRUE};
    if (!is_same && !status) real_set(old, FileDispositionInfo, &gone, sizeof gone);
    CloseHandle(old);
    if (status) return done(status);
  }
  return done(rename_to(file, name, given->flags & REPLACE_IF_EXISTS));
}
static BOOL(WINAPI *real_make)(const WCHAR *, SECURITY_ATTRIBUTES *);
static BOOL WINAPI my_make(const WCHAR *name, SECURITY_ATTRIBUTES *security) {
  return has_long_name(name, wcslen(name)) ? (SetLastError(ERROR_INVALID_NAME), FALSE) : real_make(name, security);
}
static BOOL(WINAPI *real_link)(const WCHAR *, const WCHAR *, SECURITY_ATTRIBUTES *);
static BOOL WINAPI my_link(const WCHAR *name, const WCHAR *file, SECURITY_ATTRIBUTES *security) {
  return has_long_name(name, wcslen(name)) ? (SetLastError(ERROR_INVALID_NAME), FALSE) : real_link(name, file, security);
}
static BOOL(WINAPI *real_move)(const WCHAR *, const WCHAR *, DWORD);
static BOOL WINAPI my_move(const WCHAR *file, const WCHAR *name, DWORD how) {
  return name && has_long_name(name, wcslen(name)) ? (SetLastError(ERROR_INVALID_NAME), FALSE) : real_move(file, name, how);
}
static BOOL(WINAPI *real_delete)(const WCHAR *);
static BOOL WINAPI my_delete(const WCHAR *name) {
  HANDLE file = open_name(name);
  if (file == INVALID_HANDLE_VALUE) return real_delete(name);
  BY_HANDLE_FILE_INFORMATION is;
  FILE_DISPOSITION_INFO gone = {TRUE};
  BOOL is_ours = GetFileInformationByHandle(file, &is) &&
                 !(is.dwFileAttributes & (FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT));
  if (is_ours) {
    move_away(file, name);
    real_set(file, FileDispositionInfo, &gone, sizeof gone);
  }
  CloseHandle(file);
  return is_ours || real_delete(name);
}

// Handles that hold a lock, and so may read and write what it covers.
static CRITICAL_SECTION turn;
static HANDLE holders[4096];
static int count;
static BOOL is_mandatory;
static int place_of(HANDLE file) {
  for (int i = 0; i < count; i++) if (holders[i] == file) return i;
  return -1;
}
static BOOL holds(HANDLE file) {
  EnterCriticalSection(&turn);
  BOOL found = place_of(file) >= 0;
  LeaveCriticalSection(&turn);
  return found;
}
static void begin(HANDLE file) {
  EnterCriticalSection(&turn);
  if (place_of(file) < 0 && count < 4096) holders[count++] = file;
  LeaveCriticalSection(&turn);
}
static void end(HANDLE file) {
  EnterCriticalSection(&turn);
  int at = place_of(file);
  if (at >= 0) holders[at] = holders[--count];
  LeaveCriticalSection(&turn);
}
static BOOL(WINAPI *real_lock)(HANDLE, DWORD, DWORD, DWORD, DWORD, OVERLAPPED *);
static BOOL WINAPI my_lock(HANDLE file, DWORD flags, DWORD zero, DWORD low, DWORD high, OVERLAPPED *at) {
  BOOL locked = real_lock(file, flags, zero, low, high, at);
  if (locked && (flags & LOCKFILE_EXCLUSIVE_LOCK)) begin(file);
  return locked;
}
static BOOL(WINAPI *real_unlock)(HANDLE, DWORD, DWORD, DWORD, DWORD);
static BOOL WINAPI my_unlock(HANDLE file, DWORD a, DWORD b, DWORD low, DWORD high) { end(file); return real_unlock(file, a, b, low, high); }
static BOOL(WINAPI *real_close)(HANDLE);
static BOOL WINAPI my_close(HANDLE file) { end(file); return real_close(file); }
static BOOL(WINAPI *real_copy)(HANDLE, HANDLE, HANDLE, HANDLE *, DWORD, BOOL, DWORD);
static BOOL WINAPI my_copy(HANDLE from, HANDLE file, HANDLE to, HANDLE *copy, DWORD access, BOOL inherit, DWORD options) {
  BOOL is_one = holds(file), copied = real_copy(from, file, to, copy, access, inherit, options);
  if (copied && is_one) begin(*copy);
  return copied;
}
// Whether another handle's lock covers what is to be read or written: then not even a shared lock is to be had there.
static BOOL is_denied(HANDLE file, const LARGE_INTEGER *offset, ULONG size) {
  if (!is_mandatory || holds(file) || GetFileType(file) != FILE_TYPE_DISK) return FALSE;
  LARGE_INTEGER at = {0}, zero = {0};
  if (offset && offset->QuadPart >= 0) at = *offset;
  else SetFilePointerEx(file, zero, &at, FILE_CURRENT);
  OVERLAPPED place = {.Offset = at.LowPart, .OffsetHigh = at.HighPart}, again = place;
  if (!real_lock(file, LOCKFILE_FAIL_IMMEDIATELY, 0, size ? size : 1, 0, &place))
    return GetLastError() == ERROR_LOCK_VIOLATION || GetLastError() == ERROR_IO_PENDING;
  UnlockFileEx(file, 0, size ? size : 1, 0, &again);
  return FALSE;
}
typedef NTSTATUS(NTAPI *Transfer)(HANDLE, HANDLE, PIO_APC_ROUTINE, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);
static Transfer real_nt_read, real_nt_write;
#define TRANSFER(name, real)                                                                                              \
  static NTSTATUS NTAPI name(HANDLE file, HANDLE event, PIO_APC_ROUTINE call, void *with, IO_STATUS_BLOCK *io, void *bytes, \
                             ULONG size, LARGE_INTEGER *offset, ULONG *key) {                                             \
    if (!is_denied(file, offset, size)) return real(file, event, call, with, io, bytes, size, offset, key);               \
    io->Information = 0;                                                                                                  \
    return io->Status = LOCKED;                                                                                           \
  }
TRANSFER(my_nt_read, real_nt_read)
TRANSFER(my_nt_write, real_nt_write)
static BOOL denies(HANDLE file, const OVERLAPPED *at, DWORD size) {
  LARGE_INTEGER offset;
  if (at) { offset.LowPart = at->Offset; offset.HighPart = at->OffsetHigh; }
  BOOL is = is_denied(file, at ? &offset : 0, size);
  if (is) SetLastError(ERROR_LOCK_VIOLATION);
  return is;
}
static BOOL(WINAPI *real_read)(HANDLE, void *, DWORD, DWORD *, OVERLAPPED *);
static BOOL WINAPI my_read(HANDLE file, void *to, DWORD size, DWORD *got, OVERLAPPED *at) { return !denies(file, at, size) && real_read(file, to, size, got, at); }
static BOOL(WINAPI *real_write)(HANDLE, const void *, DWORD, DWORD *, OVERLAPPED *);
static BOOL WINAPI my_write(HANDLE file, const void *from, DWORD size, DWORD *put, OVERLAPPED *at) { return !denies(file, at, size) && real_write(file, from, size, put, at); }

static void take_over(const char *library, const char *name, void *mine, void **real) {
  void *theirs = *real = GetProcAddress(GetModuleHandleA(library), name);
  BYTE *program = (BYTE *)GetModuleHandleA(0);
  IMAGE_NT_HEADERS *headers = (void *)(program + ((IMAGE_DOS_HEADER *)program)->e_lfanew);
  IMAGE_IMPORT_DESCRIPTOR *import = (void *)(program + headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress);
  for (; import->Name; import++)
    for (void **at = (void **)(program + import->FirstThunk); *at; at++)
      if (*at == theirs) {
        DWORD before;
        VirtualProtect(at, sizeof *at, PAGE_READWRITE, &before);
        *at = mine;
        VirtualProtect(at, sizeof *at, before, &before);
      }
}
BOOL WINAPI DllMain(HINSTANCE self, DWORD why, void *reserved) {
  if (why != DLL_PROCESS_ATTACH) return TRUE;
  char value[4];
  InitializeCriticalSection(&turn);
  is_mandatory = GetEnvironmentVariableA("MTE_MANDATORY", value, sizeof value) > 0;
  renaming = CreateMutexA(0, FALSE, "mcp-text-editor-shim");
  take_over("kernel32", "CreateFileW", my_open, (void **)&real_open);
  take_over("kernel32", "FindFirstFileExW", my_find, (void **)&real_find);
  take_over("ntdll", "NtCreateFile", my_nt_open, (void **)&real_nt_open);
  take_over("kernel32", "CreateDirectoryW", my_make, (void **)&real_make);
  take_over("kernel32", "SetFileInformationByHandle", my_set, (void **)&real_set);
  take_over("kernel32", "CreateHardLinkW", my_link, (void **)&real_link);
  take_over("kernel32", "MoveFileExW", my_move, (void **)&real_move);
  take_over("kernel32", "DeleteFileW", my_delete, (void **)&real_delete);
  take_over("kernel32", "LockFileEx", my_lock, (void **)&real_lock);
  take_over("kernel32", "UnlockFile", my_unlock, (void **)&real_unlock);
  take_over("kernel32", "CloseHandle", my_close, (void **)&real_close);
  take_over("kernel32", "DuplicateHandle", my_copy, (void **)&real_copy);
  take_over("kernel32", "ReadFile", my_read, (void **)&real_read);
  take_over("kernel32", "WriteFile", my_write, (void **)&real_write);
  take_over("ntdll", "NtReadFile", my_nt_read, (void **)&real_nt_read);
  take_over("ntdll", "NtWriteFile", my_nt_write, (void **)&real_nt_write);
  return TRUE;
}
