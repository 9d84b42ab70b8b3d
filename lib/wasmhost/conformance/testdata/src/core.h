// The guest as a command on murmur:core@0.1.0.

#define IMPORT(name) __attribute__((import_module("murmur:core@0.1.0"), import_name(name)))
IMPORT("slot_len") int32_t slot_len(void);
IMPORT("slot_read") int32_t slot_read(void *p, uint32_t n);
IMPORT("http_open") int32_t http_open(const char *p, uint32_t n);
IMPORT("http_read") int32_t http_read(int32_t handle, void *p, uint32_t n);
IMPORT("http_close") int32_t http_close(int32_t handle);
IMPORT("emit_chunk") int32_t emit_chunk(int32_t kind, const char *p, uint32_t n);
IMPORT("request_input") int32_t request_input(const char *p, uint32_t n);
IMPORT("invoke_tool") int32_t invoke_tool(const char *name, uint32_t name_len, const char *in, uint32_t in_len);

// take copies the slot into s.
static void take(char *s, size_t room) {
  int32_t n = slot_read(s, room - 1);
  s[n > 0 ? n : 0] = 0;
}

// refused puts the word the component has for a result code into answer.
static bool refused(int32_t code) {
  if (code >= 0) return false;
  snprintf(answer, sizeof answer, "%s", code == -2 ? "denied" : code == -5 ? "transport" : code == -3 ? "unavailable" : "failed");
  return true;
}

static void quote(char *out, size_t room, const char *s) {
  size_t n = 0;
  for (out[n++] = '"'; *s && n + 8 < room; s++) {
    unsigned char c = *s;
    if (c == '"' || c == '\\') out[n++] = '\\', out[n++] = c;
    else if (c < ' ') n += sprintf(out + n, "\\u%04x", c);
    else out[n++] = c;
  }
  out[n++] = '"', out[n] = 0;
}

// unquote finds the string member of a JSON object and undoes its escapes in
// place; NULL when the member is null or not there.
static char *unquote(char *json, const char *member) {
  char key[40];
  snprintf(key, sizeof key, "\"%s\":\"", member);
  char *s = strstr(json, key);
  if (!s) return NULL;
  char *out = s += strlen(key), *start = s;
  for (; *s && *s != '"'; s++) {
    if (*s != '\\') { *out++ = *s; continue; }
    switch (*++s) {
    case 'n': *out++ = '\n'; break;
    case 't': *out++ = '\t'; break;
    case 'r': *out++ = '\r'; break;
    case 'u': *out++ = strtol((char[]){s[3], s[4], 0}, NULL, 16), s += 4; break; // what Go escapes is ASCII
    default: *out++ = *s;
    }
  }
  *out = 0;
  return start;
}

static bool http_get(const char *url) {
  static char request[ROOM], quoted[ROOM];
  quote(quoted, sizeof quoted, url);
  int n = snprintf(request, sizeof request, "{\"method\":\"GET\",\"url\":%s}", quoted);
  int32_t h = http_open(request, n);
  if (refused(h)) return false;
  char head[1000];
  take(head, sizeof head);
  n = snprintf(answer, sizeof answer, "%d ", atoi(strstr(head, "\"status\":") + 9));
  for (int32_t k; (k = http_read(h, answer + n, sizeof answer - 1 - n)) != 0; n += k)
    if (refused(k)) return false;
  answer[n] = 0;
  http_close(h);
  return true;
}

static bool invoke(const char *name, const char *data) {
  static char in[ROOM], quoted[ROOM], out[ROOM];
  quote(quoted, sizeof quoted, data);
  int n = snprintf(in, sizeof in, "{\"data\":%s,\"log_path\":null}", quoted);
  if (refused(invoke_tool(name, strlen(name), in, n))) {
    take(answer, sizeof answer);
    return false;
  }
  take(out, sizeof out);
  const char *status = strstr(out, "\"status\":\"") + 10;
  char *text = unquote(out, "data");
  snprintf(answer, sizeof answer, "%c %s", *status, text ? text : "-");
  return true;
}

static bool emit(int kind, const char *s) { return !refused(emit_chunk(kind, s, strlen(s))); }

static bool ask(const char *prompt) {
  if (refused(request_input(prompt, strlen(prompt)))) return false;
  take(answer, sizeof answer);
  return true;
}

static void member(const char *name, const char *s) {
  static char quoted[2 * ROOM];
  if (!s) return;
  quote(quoted, sizeof quoted, s);
  printf(",\"%s\":%s", name, quoted);
}

int main(int argc, char **argv) {
  static char in[ROOM];
  if (argc > 1 && !strcmp(argv[1], "capsule-run")) {
    snprintf(in, sizeof in, "%s", getenv("DO"));
    struct result r = act(in);
    fputs(r.data, stdout);
    return r.status;
  }
  size_t n = fread(in, 1, sizeof in - 1, stdin);
  in[n] = 0;
  char *log = strstr(in, "\"log_path\":null") ? NULL : "log";
  char *data = unquote(in, "data");
  struct result r = data ? act(data) : say(PASSED, log ? "log path without data" : "no data");
  printf("{\"status\":\"%s\"", r.status == PASSED ? "passed" : r.status == FAILED ? "failed" : "error");
  member("summary", r.summary), member("data", r.data), member("data_path", r.data_path);
  if (r.truncated) printf(",\"truncated\":true");
  if (r.metadata) printf(",\"metadata\":[[\"k\",\"v\"],[\"k\",\"w\"]]");
  printf("}\n");
  return 0;
}
