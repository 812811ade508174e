/*
 * Trust, of secrets: see trust_secret.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/trust_secret.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/str.h"
#include "store/gitconfig.h"

/* Where programs keep what lets them in elsewhere: below the user's home directory. */
static const char *const places[] = {
	".ssh",
	".netrc",
	".git-credentials",
	".config/git/credentials",
	".config/gh",
	".config/glab-cli",
	".config/hub",
	".aws",
	".azure",
	".config/gcloud",
	".gnupg",
	".docker/config.json",
	".kube",
	".npmrc",
	".pypirc",
	".cargo/credentials.toml",
	".config/op",
	".password-store",
	".local/share/keyrings",
	".vault-token",
	".terraform.d/credentials.tfrc.json",
	".pgpass",
	".my.cnf",
};

/* Below the user's runtime directory, and for all of the machine. */
static const char *const runtime_sockets[] = { "bus", "gnupg/S.gpg-agent", "keyring/ssh", "podman/podman.sock" };
static const char *const machine_sockets[] = { "/run/docker.sock", "/run/podman/podman.sock",
					       "/run/containerd/containerd.sock" };

static const char *const endings[] = { "TOKEN", "SECRET", "KEY", "PASSWORD" };

#define PATTERN                                                                                                        \
	"^(remote\\..+\\.(url|pushurl|proxy)|url\\..+\\.(insteadof|pushinsteadof)|http\\.(.+\\.)?(extraheader|proxy)|" \
	"credential\\..+|.*(token|secret|password|apikey|smtppass)|imap\\.(.+\\.)?pass)$"

static bool ends_in(const char *text, const char *ending)
{
	size_t len = strlen(text), want = strlen(ending);

	return len >= want && !strcasecmp(text + len - want, ending);
}

static void look_at_files(struct ews_strv *out)
{
	const char *home = getenv("HOME");

	for (size_t i = 0; home && *home == '/' && i < sizeof(places) / sizeof(*places); i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(home, places[i]);
		struct stat st;

		if (stat(path, &st) == 0 && access(path, S_ISDIR(st.st_mode) ? R_OK | X_OK : R_OK) == 0)
			ews_strv_add(out, path);
	}
}

static void look_at_variables(struct ews_strv *out)
{
	for (char **var = environ; var && *var; var++) {
		EWS_CLEANUP(free) char *name = ews_strndup(*var, strcspn(*var, "="));
		bool is_secret = false;

		for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
			is_secret = is_secret || ends_in(name, endings[i]);
		if (is_secret && (*var)[strlen(name)] && (*var)[strlen(name) + 1])
			ews_strv_add(out, name);
	}
	ews_strv_unique(out);
}

static void add_socket(struct ews_strv *out, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && access(path, W_OK) == 0)
		ews_strv_add(out, path);
}

static void look_at_sockets(struct ews_strv *out)
{
	const char *agent = getenv("SSH_AUTH_SOCK"), *runtime = getenv("XDG_RUNTIME_DIR");
	const char *home = getenv("HOME");

	if (agent && *agent)
		add_socket(out, agent);
	if (home && *home == '/') {
		EWS_CLEANUP(free) char *path = ews_path_join(home, ".gnupg/S.gpg-agent");

		add_socket(out, path);
	}
	for (size_t i = 0; runtime && *runtime == '/' && i < sizeof(runtime_sockets) / sizeof(*runtime_sockets); i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(runtime, runtime_sockets[i]);

		add_socket(out, path);
	}
	for (size_t i = 0; i < sizeof(machine_sockets) / sizeof(*machine_sockets); i++)
		add_socket(out, machine_sockets[i]);
	ews_strv_unique(out);
}

/* The "user:password@" of an address in `text`: where it begins, and its length up to "@"; NULL: there is none. */
static const char *find_user(size_t *len, const char *text)
{
	const char *at = strstr(text, "://");
	const char *end;

	if (!at)
		return NULL;
	at += 3;
	end = at + strcspn(at, "/?#");
	end = memrchr(at, '@', (size_t)(end - at));
	*len = end ? (size_t)(end - at) : 0;
	return end ? at : NULL;
}

char *ews_trust_mask_key(const char *key)
{
	size_t len;
	const char *user = find_user(&len, key);

	return user ? ews_strfmt("%.*s***%s", (int)(user - key), key, user + len) : ews_strdup(key);
}

/* Is there a password in that address? A name alone ("ssh://git@...") is none, but a token that stands alone is like one. */
static bool has_password(const char *text)
{
	size_t len;
	const char *user = find_user(&len, text);

	return user && (memchr(user, ':', len) || ews_str_begins(text, "http"));
}

static bool is_secret(const struct ews_gitconfig_value *value)
{
	static const char *const whole[] = { "extraheader", "token", "secret", "password", "apikey", "smtppass" };
	const char *last = strrchr(value->key, '.');

	if (ews_str_begins(value->key, "imap.") && !strcmp(last, ".pass"))
		return *value->text;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (ends_in(last, whole[i]))
			return *value->text;
	/* "url.<address>.insteadOf", "credential.<address>.helper" */
	return has_password(value->text) || has_password(value->key + strcspn(value->key, ".") + 1);
}

static int look_at_settings(struct ews_strv *out, const char *git_dir)
{
	EWS_CLEANUP(gitconfig) struct ews_gitconfig values = EWS_GITCONFIG_INIT;
	int rc = ews_gitconfig_find(&values, git_dir, PATTERN);

	for (size_t i = 0; i < values.n; i++) {
		EWS_CLEANUP(free) char *key = ews_trust_mask_key(values.items[i].key);

		if (is_secret(&values.items[i]))
			ews_strv_add(out, key);
	}
	ews_strv_unique(out);
	return rc;
}

int ews_trust_secrets_look(struct ews_trust_secrets *out, const char *git_dir)
{
	look_at_files(&out->files);
	look_at_variables(&out->variables);
	look_at_sockets(&out->sockets);
	return look_at_settings(&out->settings, git_dir);
}

void ews_trust_secrets_release(struct ews_trust_secrets *secrets)
{
	ews_strv_release(&secrets->files);
	ews_strv_release(&secrets->variables);
	ews_strv_release(&secrets->sockets);
	ews_strv_release(&secrets->settings);
}
