#include "include/cxml.h"
#include <libxml/entities.h>
#include <libxml/parser.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct cxml_parser {
  xmlParserCtxtPtr libxml;
  cxml_callbacks callbacks;
  void *context;
  int depth, depth_cap;
  size_t text, text_cap;
  size_t fed;
  int failed;
};

static void fail(cxml_parser *parser) {
  parser->failed = 1;
  if (parser->libxml != NULL) xmlStopParser(parser->libxml);
}

static void start_element(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int namespaces,
                          const xmlChar **namespace_list, int attributes, int defaulted, const xmlChar **list) {
  (void)prefix, (void)uri, (void)namespaces, (void)namespace_list, (void)attributes, (void)defaulted, (void)list;
  cxml_parser *parser = user;
  if (parser->failed) return;
  parser->text = 0;
  if (++parser->depth > parser->depth_cap) {
    fail(parser);
    return;
  }
  parser->callbacks.start(parser->context, (const char *)name);
}

static void end_element(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri) {
  (void)prefix, (void)uri;
  cxml_parser *parser = user;
  if (parser->failed) return;
  parser->text = 0;
  parser->depth--;
  parser->callbacks.end(parser->context, (const char *)name);
}

static void characters(void *user, const xmlChar *bytes, int count) {
  cxml_parser *parser = user;
  if (parser->failed || count <= 0 || parser->depth == 0) return;
  parser->text += (size_t)count;
  if (parser->text > parser->text_cap) {
    fail(parser);
    return;
  }
  parser->callbacks.text(parser->context, bytes, (size_t)count);
}

// A DTD is never part of an answer, and the only way to entities.
static void internal_subset(void *user, const xmlChar *name, const xmlChar *external, const xmlChar *system) {
  (void)name, (void)external, (void)system;
  fail(user);
}

static void entity_declaration(void *user, const xmlChar *name, int type, const xmlChar *public_id,
                               const xmlChar *system_id, xmlChar *content) {
  (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
  fail(user);
}

static int encode(unsigned int scalar, xmlChar *out) {
  if (scalar < 0x80) {
    out[0] = (xmlChar)scalar;
    return 1;
  }
  if (scalar < 0x800) {
    out[0] = (xmlChar)(0xC0 | scalar >> 6);
    out[1] = (xmlChar)(0x80 | (scalar & 0x3F));
    return 2;
  }
  out[0] = (xmlChar)(0xE0 | scalar >> 12);
  out[1] = (xmlChar)(0x80 | (scalar >> 6 & 0x3F));
  out[2] = (xmlChar)(0x80 | (scalar & 0x3F));
  return 3;
}

// Where in the document a character that XML forbids was met; libxml2 tells in the message only.
static int begins(const xmlError *error, const char *with) {
  return error->message != NULL && strncmp(error->message, with, strlen(with)) == 0;
}

// Servers that do not know encoding-type=url send control characters and noncharacters, which XML 1.0 forbids even as
// references. In recovery the parser names each here, at its place in the text, and goes on: it is passed on as what it
// means. Of a raw one beyond ASCII the decoder complains first, maybe before the text that stands in front of it.
static void on_error(void *user, xmlErrorPtr error) {
  cxml_parser *parser = user;
  if (parser->failed || error == NULL || error->level != XML_ERR_FATAL) return;
  unsigned int scalar = (unsigned int)error->int1;
  int surrogate = scalar >= 0xD800 && scalar <= 0xDFFF;
  if (error->code == XML_ERR_INVALID_CHAR && scalar != 0 && scalar <= 0xFFFF && !surrogate) {
    if (begins(error, "Char 0x")) return;
    if (begins(error, "PCDATA invalid Char") || begins(error, "xmlParseCharRef")) {
      xmlChar bytes[4];
      characters(user, bytes, encode(scalar, bytes));
      return;
    }
  }
  fail(parser);
}

// After an error that was forgiven the parser would leave out even the five predefined entities; asked for them the
// old way (XML_PARSE_OLDSAX) it comes by here first.
static xmlEntityPtr get_entity(void *user, const xmlChar *name) {
  cxml_parser *parser = user;
  if (!parser->failed) parser->libxml->wellFormed = 1;
  return xmlGetPredefinedEntity(name);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

cxml_parser *cxml_create(const cxml_callbacks *callbacks, void *context, int depth, size_t text) {
  pthread_once(&once, xmlInitParser);
  cxml_parser *parser = calloc(1, sizeof *parser);
  if (parser == NULL) return NULL;
  parser->callbacks = *callbacks;
  parser->context = context;
  parser->depth_cap = depth;
  parser->text_cap = text;

  xmlSAXHandler handler;
  memset(&handler, 0, sizeof handler);
  handler.initialized = XML_SAX2_MAGIC;
  handler.startElementNs = start_element;
  handler.endElementNs = end_element;
  handler.characters = characters;
  handler.ignorableWhitespace = characters;
  handler.cdataBlock = characters;
  handler.internalSubset = internal_subset;
  handler.getEntity = get_entity;
  handler.entityDecl = entity_declaration;
  handler.serror = on_error;
  parser->libxml = xmlCreatePushParserCtxt(&handler, parser, NULL, 0, NULL);
  if (parser->libxml == NULL) {
    free(parser);
    return NULL;
  }
  xmlCtxtUseOptions(parser->libxml, XML_PARSE_NONET | XML_PARSE_RECOVER | XML_PARSE_OLDSAX | XML_PARSE_IGNORE_ENC);
  return parser;
}

// Answers are UTF-8, whatever they declare. By any other encoding, which the parser would find out by the first bytes,
// what can't be converted would be lost without a word.
static int begins_as_utf8(cxml_parser *parser, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count && parser->fed < 2; i++, parser->fed++) {
    int opens = bytes[i] == '<' || bytes[i] == ' ' || (bytes[i] >= '\t' && bytes[i] <= '\r') || bytes[i] == 0xEF;
    if (parser->fed == 0 ? !opens : bytes[i] == 0) return 0;
  }
  return 1;
}

int cxml_feed(cxml_parser *parser, const void *bytes, size_t count) {
  const char *next = bytes;
  if (!parser->failed && !begins_as_utf8(parser, bytes, count)) fail(parser);
  while (!parser->failed && count > 0) {
    int part = count > 1 << 20 ? 1 << 20 : (int)count;
    xmlParseChunk(parser->libxml, next, part, 0);
    next += part;
    count -= (size_t)part;
  }
  return !parser->failed;
}

int cxml_finish(cxml_parser *parser) {
  if (!parser->failed) xmlParseChunk(parser->libxml, NULL, 0, 1);
  return !parser->failed && parser->depth == 0;
}

void cxml_free(cxml_parser *parser) {
  if (parser == NULL) return;
  if (parser->libxml != NULL) {
    xmlDocPtr document = parser->libxml->myDoc;
    xmlFreeParserCtxt(parser->libxml);
    if (document != NULL) xmlFreeDoc(document);
  }
  free(parser);
}
