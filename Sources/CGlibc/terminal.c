#define _GNU_SOURCE
#include "include/cglibc.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static volatile int has_begun = 0;

int cglibc_terminal_size(int fd, int *rows, int *columns) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return -1;
  *rows = size.ws_row;
  *columns = size.ws_col;
  return 0;
}

int cglibc_terminal_begin(int fd) {
  if (tcgetattr(fd, &before) != 0) return -1;
  struct termios raw = before;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (tcsetattr(fd, TCSANOW, &raw) != 0) return -1;
  has_begun = 1;
  return 0;
}

void cglibc_terminal_end(int fd) {
  if (!has_begun) return;
  has_begun = 0;
  tcsetattr(fd, TCSANOW, &before);
}

int cglibc_terminal_key(int fd, int milliseconds) {
  struct pollfd wait = {fd, POLLIN, 0};
  unsigned char byte;
  if (poll(&wait, 1, milliseconds) <= 0) return -1;
  return read(fd, &byte, 1) == 1 ? byte : -2;
}
