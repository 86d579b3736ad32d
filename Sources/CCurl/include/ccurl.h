// libcurl with its variadic calls spelled one function a kind of argument: variadics do not import into Swift.
#ifndef CCURL_H
#define CCURL_H
#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

/// The type of CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*ccurl_receiver)(char *bytes, size_t size, size_t count, void *context);

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value);
CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value);
CURLcode ccurl_set_offset(CURL *easy, CURLoption option, int64_t value);
CURLcode ccurl_set_receiver(CURL *easy, CURLoption option, ccurl_receiver value);

/// The type of CURLOPT_PREREQFUNCTION.
typedef int (*ccurl_sender)(void *context, char *server, char *own, int server_port, int own_port);
CURLcode ccurl_set_sender(CURL *easy, ccurl_sender value);

/// Each gives 0 or NULL where libcurl has no value.
long ccurl_get_long(CURL *easy, CURLINFO info);
int64_t ccurl_get_offset(CURL *easy, CURLINFO info);
void *ccurl_get_pointer(CURL *easy, CURLINFO info);

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/// TLS sessions that handles of one thread have in common (CURLOPT_SHARE), or NULL.
CURLSH *ccurl_share_sessions(void);

/// The next finished transfer, or NULL; its result goes to `result` (curl_multi_info_read).
CURL *ccurl_next_finished(CURLM *multi, CURLcode *result);

#endif
