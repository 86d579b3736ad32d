// SQLite, and what Swift can't import of it: SQLITE_TRANSIENT is a cast, and an empty blob needs a pointer.
#ifndef CSQLITE_H
#define CSQLITE_H
#include <sqlite3.h>

/// Binds a copy of the bytes; no bytes are a value of length 0, not NULL.
int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count);
/// Binds a copy of the text, which may hold any bytes; no bytes are a text of length 0, not NULL.
int csqlite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count);

#endif
