// libxml2's push parser, narrowed to what an S3 answer needs: elements and text, no DTD, no entities, bounded.
#ifndef CXML_H
#define CXML_H
#include <stddef.h>
#include <stdint.h>

typedef struct cxml_parser cxml_parser;

/// Names are local names; text comes in pieces, UTF-8, with characters that XML 1.0 forbids where a server sent them.
typedef struct {
  void (*start)(void *context, const char *name);
  void (*end)(void *context, const char *name);
  void (*text)(void *context, const uint8_t *bytes, size_t count);
} cxml_callbacks;

/// Caps: nesting of elements, and bytes of text between two tags. NULL when memory is out.
cxml_parser *cxml_create(const cxml_callbacks *callbacks, void *context, int depth, size_t text);
/// 1 while the document can still be valid.
int cxml_feed(cxml_parser *parser, const void *bytes, size_t count);
/// 1 when the document was complete.
int cxml_finish(cxml_parser *parser);
void cxml_free(cxml_parser *parser);

#endif
