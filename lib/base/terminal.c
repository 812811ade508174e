/*
 * Terminal: see terminal.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/terminal.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"

void ews_terminal_find(struct ews_terminal *out)
{
	*out = (struct ews_terminal)EWS_TERMINAL_INIT;
	out->our_group = getpgrp();
	out->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	out->has_modes = out->fd >= 0 && tcgetattr(out->fd, &out->modes) == 0;
}

void ews_terminal_release(struct ews_terminal *terminal)
{
	if (terminal->fd >= 0)
		close(terminal->fd);
	terminal->fd = -1;
}

bool ews_terminal_is_ours(const struct ews_terminal *terminal)
{
	return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->our_group;
}

void ews_terminal_give(struct ews_terminal *terminal, pid_t group)
{
	/* The group itself may have been quicker. */
	if (terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group)
		terminal->is_given = true;
	if (!ews_terminal_is_ours(terminal))
		return;
	/* While it was another's turn the modes were that one's. */
	terminal->has_modes = tcgetattr(terminal->fd, &terminal->modes) == 0;
	/* It fails when the group has just ended: then it is ours still. */
	if (tcsetpgrp(terminal->fd, group) == 0)
		terminal->is_given = true;
}

void ews_terminal_take(struct ews_terminal *terminal)
{
	if (terminal->is_given)
		(void)tcsetpgrp(terminal->fd, terminal->our_group);
	terminal->is_given = false;
}

void ews_terminal_make_raw(struct ews_terminal *terminal)
{
	struct termios raw;

	if (!terminal->has_modes || !ews_terminal_is_ours(terminal))
		return;
	/* Whoever had it meanwhile may have set it otherwise. */
	if (!terminal->is_raw)
		(void)tcgetattr(terminal->fd, &terminal->modes);
	raw = terminal->modes;
	cfmakeraw(&raw);
	terminal->is_raw = tcsetattr(terminal->fd, TCSADRAIN, &raw) == 0;
}

void ews_terminal_put_back(struct ews_terminal *terminal)
{
	if (terminal->has_modes && ews_terminal_is_ours(terminal))
		(void)tcsetattr(terminal->fd, TCSADRAIN, &terminal->modes);
	terminal->is_raw = false;
}

int ews_pty_open(struct ews_pty *out, const struct ews_terminal *like, int size_fd)
{
	EWS_CLEANUP(fd) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	EWS_CLEANUP(fd) int slave = -1;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return ews_error_os("cannot make a terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return ews_error_os("cannot open the terminal that was made");
	/* A shell that has us in the background reads its next line in modes of its own. */
	if (like->has_modes && ews_terminal_is_ours(like))
		(void)tcsetattr(slave, TCSANOW, &like->modes);
	out->master = ews_steal_fd(&master);
	out->slave = ews_steal_fd(&slave);
	ews_pty_take_size(out, size_fd);
	return 0;
}

void ews_pty_take_size(const struct ews_pty *pty, int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		(void)ioctl(pty->master, TIOCSWINSZ, &size);
}

unsigned ews_terminal_width(int fd)
{
	const char *text = getenv("COLUMNS");
	unsigned long columns = text ? strtoul(text, NULL, 10) : 0;
	struct winsize size;

	if (columns > 0 && columns < USHRT_MAX)
		return (unsigned)columns;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
