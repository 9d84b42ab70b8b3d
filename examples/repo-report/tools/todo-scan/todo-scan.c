// todo-scan: a tool written in C as a WebAssembly component.
//
// It walks the folder it was granted, reads every text file and answers with
// the TODO, FIXME, XXX and HACK marks it met in comments, as JSON:
//
//   {"files_scanned":12,"truncated":false,
//    "marks":[{"file":"a/b.c","line":7,"kind":"TODO","text":"say why"}]}
//
// The calls to the host and the shape of a tool's input and result are in
// wasi.h; this file is only about marks. ./rebuild.sh builds it.
#include "wasi.h"

#define MAX_FILE (1 << 20)  // larger files are not source code; they are skipped
#define MAX_TEXT 160        // bytes of a mark's text that are kept
#define MAX_DEPTH 32        // folders inside folders

// ---- the JSON text being written --------------------------------------------

static char out[1 << 19];
static size_t out_len;
static bool truncated;

static void put(const char *p, size_t n) {
  for (size_t i = 0; i < n && out_len < sizeof out; i++) out[out_len++] = p[i];
}

static void put_text(const char *s) { put(s, str_len(s)); }

static void put_number(uint32_t n) {
  char digits[10];
  size_t i = sizeof digits;
  do digits[--i] = (char)('0' + n % 10);
  while (n /= 10);
  put(digits + i, sizeof digits - i);
}

// utf8_len returns the length of the valid UTF-8 character at p, or 0.
static size_t utf8_len(const char *p, size_t n) {
  const unsigned char *c = (const unsigned char *)p;
  if (c[0] < 0x80) return 1;
  size_t k = c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : (c[0] & 0xf0) == 0xe0 ? 3 : c[0] >= 0xf0 && c[0] < 0xf5 ? 4 : 0;
  if (k == 0 || k > n) return 0;
  for (size_t i = 1; i < k; i++)
    if ((c[i] & 0xc0) != 0x80) return 0;
  if (c[0] == 0xe0 && c[1] < 0xa0) return 0;  // written longer than needed
  if (c[0] == 0xed && c[1] > 0x9f) return 0;  // half of a surrogate pair
  if (c[0] == 0xf0 && c[1] < 0x90) return 0;
  if (c[0] == 0xf4 && c[1] > 0x8f) return 0;
  return k;
}

// put_string writes p as a JSON string; bytes that are not UTF-8 become '?'.
static void put_string(const char *p, size_t n) {
  static const char hex[] = "0123456789abcdef";
  put_text("\"");
  for (size_t i = 0; i < n;) {
    size_t k = utf8_len(p + i, n - i);
    unsigned char c = (unsigned char)p[i];
    if (k == 0) put_text("?"), k = 1;
    else if (c == '"' || c == '\\') put_text("\\"), put(p + i, 1);
    else if (c < 0x20) put_text("\\u00"), put(&hex[c >> 4], 1), put(&hex[c & 15], 1);
    else put(p + i, k);
    i += k;
  }
  put_text("\"");
}

// ---- marks --------------------------------------------------------------------

static uint32_t files_scanned, marks;

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool starts_with(const char *p, size_t n, const char *word) {
  size_t k = str_len(word);
  return n >= k && mem_equal(p, word, k);
}

// in_comment tells whether a comment begins in the n bytes of a line before a
// mark. It knows no language: a comment sign in a text misleads it.
static bool in_comment(const char *line, size_t n) {
  static const char *const signs[] = {"//", "/*", "# ", "--", "<!--", ";;", "* "};
  for (size_t i = 0; i < n; i++)
    for (size_t s = 0; s < sizeof signs / sizeof *signs; s++)
      if (starts_with(line + i, n - i, signs[s])) return true;
  return false;
}

static void put_mark(const char *path, uint32_t line, const char *kind, const char *text, size_t n) {
  if (out_len + str_len(path) * 6 + MAX_TEXT * 6 + 100 > sizeof out) {
    truncated = true;
    return;
  }
  while (n > 0 && (is_blank(*text) || *text == ':' || *text == '-')) text++, n--;
  while (n > 0 && is_blank(text[n - 1])) n--;
  if (n > MAX_TEXT) {
    n = MAX_TEXT;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;  // not inside a character
  }
  put_text(marks++ ? ",{\"file\":" : "{\"file\":");
  put_string(path, str_len(path));
  put_text(",\"line\":");
  put_number(line);
  put_text(",\"kind\":\"");
  put_text(kind);
  put_text("\",\"text\":");
  put_string(text, n);
  put_text("}");
}

static void scan_line(const char *path, uint32_t number, const char *line, size_t n) {
  static const char *const kinds[] = {"TODO", "FIXME", "XXX", "HACK"};
  for (size_t i = 0; i < n; i++) {
    char c = line[i];
    if (c != 'T' && c != 'F' && c != 'X' && c != 'H') continue;  // nearly every byte
    if (i > 0 && is_word(line[i - 1])) continue;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      size_t end = i + str_len(kinds[k]);
      if (!starts_with(line + i, n - i, kinds[k]) || (end < n && is_word(line[end]))) continue;
      if (!in_comment(line, i)) continue;
      put_mark(path, number, kinds[k], line + end, n - end);
      return;  // one mark a line is enough
    }
  }
}

static void scan_text(const char *path, const char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i] == 0) return;  // not a text file
  files_scanned++;
  uint32_t number = 1;
  for (size_t start = 0; start < n; number++) {
    size_t end = start;
    while (end < n && p[end] != '\n') end++;
    scan_line(path, number, p + start, end - start);
    start = end + 1;
  }
}

// ---- the folder ---------------------------------------------------------------

static char file[MAX_FILE + 1];

static void scan_file(descriptor dir, const char *name, const char *path) {
  descriptor f;
  if (!wasi_open(dir, name, 0, &f)) return;  // unreadable: not ours to report
  long n = wasi_read_all(f, file, sizeof file);
  wasi_close(f);
  if (n > 0 && n <= MAX_FILE) scan_text(path, file, (size_t)n);
}

// ignored says which names hold no source code of the project's own.
static bool ignored(const char *name, int depth) {
  static const char *const names[] = {"node_modules", "vendor", "target"};
  if (name[0] == '.') return true;
  if (depth == 0 && str_equal(name, "out")) return true;  // where reports go
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (str_equal(name, names[i])) return true;
  return false;
}

static bool scan_dir(descriptor dir, char *path, size_t len, int depth) {
  dir_stream entries;
  if (!wasi_list(dir, &entries)) return false;
  struct entry e;
  while (wasi_next(entries, &e)) {
    size_t n = str_len(e.name);
    if (ignored(e.name, depth) || len + n + 2 > MAX_PATH) continue;
    size_t end = len;
    if (len > 0) path[end++] = '/';
    mem_copy(path + end, e.name, n + 1);
    descriptor sub;
    if (e.type == REGULAR_FILE) {
      scan_file(dir, e.name, path);
    } else if (e.type == DIRECTORY && depth < MAX_DEPTH && wasi_open(dir, e.name, OPEN_DIRECTORY, &sub)) {
      scan_dir(sub, path, end + n, depth + 1);
      wasi_close(sub);
    }
    path[len] = 0;
  }
  wasi_list_end(entries);
  return true;
}

// ---- the tool -----------------------------------------------------------------

void run_tool(struct tool_result *result) {
  static char path[MAX_PATH];
  descriptor root;
  if (!wasi_work_folder(&root)) {
    result->status = FAILED;
    result->summary = some("no folder was granted to this tool");
    return;
  }
  put_text("{\"marks\":[");
  if (!scan_dir(root, path, 0, 0)) {
    result->status = FAILED;
    result->summary = some("the work folder can not be listed");
    return;
  }
  put_text("],\"files_scanned\":");
  put_number(files_scanned);
  put_text(truncated ? ",\"truncated\":true}" : ",\"truncated\":false}");
  result->status = PASSED;
  result->data = (struct option_string){1, {out, out_len}};
  // state_effect tells whoever reads the trace that nothing was changed.
  static struct string effect[2] = {{"state_effect", 12}, {"read", 4}};
  result->metadata = effect;
  result->metadata_len = 1;
}
