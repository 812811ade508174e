/*
 * File systems: see fs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fs.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

/* The numbers that statfs(2) gives. */
static const struct {
	uint32_t magic;
	const char *name;
} file_systems[] = {
	{ 0xef53, "ext4" },        { 0x58465342, "xfs" },   { 0x9123683e, "btrfs" },    { 0xca451a4e, "bcachefs" },
	{ 0x2fc12fc1, "zfs" },     { 0xf2f52010, "f2fs" },  { 0x01021994, "tmpfs" },    { 0x858458f6, "ramfs" },
	{ 0x794c7630, "overlay" }, { 0x6969, "nfs" },       { 0xff534d42, "cifs" },     { 0xfe534d42, "smb2" },
	{ 0x65735546, "fuse" },    { 0x01021997, "9p" },    { 0x4d44, "vfat" },         { 0x5346544e, "ntfs" },
	{ 0x00c36400, "ceph" },    { 0x2011bab0, "exfat" }, { 0x52654973, "reiserfs" },
};

const char *ews_fs_name(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return "";
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(*file_systems); i++)
		if ((uint32_t)st.f_type == file_systems[i].magic)
			return file_systems[i].name;
	return "";
}

/*
 * Documentation/ABI/testing/sysfs-fs-ext4 names the directories, in which a file system with a journal has the process that
 * writes it; one that is called ext4 may be mounted without any, as ext2 is.
 */
static bool has_ext4_journal(int fd)
{
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(fd) int journal = -1;
	char block[64], device[PATH_MAX], first;
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return false;
	(void)snprintf(block, sizeof(block), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	len = readlink(block, device, sizeof(device));
	if (len <= 0 || (size_t)len == sizeof(device))
		return false;
	device[len] = '\0';
	path = ews_strfmt("/sys/fs/ext4/%s/journal_task", ews_path_base(device));
	journal = open(path, O_RDONLY | O_CLOEXEC);
	return journal >= 0 && read(journal, &first, 1) == 1 && first >= '0' && first <= '9';
}

bool ews_fs_keeps_order(int fd)
{
	const char *name = ews_fs_name(fd);

	return !strcmp(name, "xfs") || (!strcmp(name, "ext4") && has_ext4_journal(fd));
}
