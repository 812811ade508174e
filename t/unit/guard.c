/*
 * The guard: verdicts over command lines, one a line, words parted by single blanks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "work/guard.h"

static struct ews_guard_verdict verdict;

static void set_up(void)
{
	verdict = (struct ews_guard_verdict)EWS_GUARD_VERDICT_INIT;
}

static void tear_down(void)
{
	ews_guard_verdict_release(&verdict);
}

TestSuite(guard, .init = set_up, .fini = tear_down);

static void split(struct ews_strv *out, const char *line)
{
	for (size_t len; *line; line += len + (line[len] != '\0')) {
		len = strcspn(line, " ");
		ews_strv_add_len(out, line, len);
	}
}

static void judge(const struct ews_guard_rules *rules, const char *line)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;

	tear_down();
	split(&argv, line);
	cr_assert_eq(ews_guard_judge(&verdict, rules, argv.items), 0);
}

static const struct ews_guard_rules strict = EWS_GUARD_RULES_INIT;

static void allowed_by(const struct ews_guard_rules *rules, const char *const *lines)
{
	for (; *lines; lines++) {
		judge(rules, *lines);
		cr_expect_not(verdict.is_blocked, "%s: %s", *lines, verdict.reason);
	}
}

static void blocked_by(const struct ews_guard_rules *rules, const char *const *lines)
{
	for (; *lines; lines++) {
		judge(rules, *lines);
		cr_expect(verdict.is_blocked, "%s is allowed", *lines);
		cr_expect_neq(verdict.operation, EWS_GUARD_READ, "%s", *lines);
		cr_expect(verdict.reason && *verdict.reason, "%s: no reason", *lines);
	}
}

#define ALLOWED(...) allowed_by(&strict, (const char *const[]){ __VA_ARGS__, NULL })
#define BLOCKED(...) blocked_by(&strict, (const char *const[]){ __VA_ARGS__, NULL })

Test(guard, options_are_known_in_each_spelling_that_git_takes)
{
	ALLOWED("git branch -avv", "git branch --lis x", "git branch --contai HEAD", "git log -5", "git log -n5",
		"git log -n 5", "git log -n -1", "git diff -U5", "git diff -M50%", "git status -sb",
		"git status --porcelain=v2", "git tag -n5", "git tag -ln", "git add -nA", "git clean -ndx",
		"git log --no-merges", "git log --no-textconv", "git diff --no-ext-diff", "git grep -nie x",
		"git branch --no-color", "git blame -wCCC -L1,5 f", "git log --since 2.weeks --author x");
	BLOCKED("git branch -dr x", "git branch -vD x", "git branch --de x", "git branch --delet x",
		"git branch --mov a b", "git branch --unset", "git branch -ux", "git branch -u x", "git tag -d x",
		"git tag --del x", "git log --outp=f", "git log --bogus", "git grep -nOless x", "git grep --open x",
		"git add --dry --no-dry-run f", "git add -Av", "git config --unse k", "git hash-object -wt blob f",
		"git format-patch --stdout -o d", "git status --bogus");
}

Test(guard, an_option_of_revision_walks_is_not_abbreviated)
{
	BLOCKED("git log --onelin", "git diff --name-onl", "git rev-list --coun HEAD");
}

Test(guard, what_stands_where_a_value_is_expected_may_be_an_option_to_git)
{
	ALLOWED("git log --grep x --author y", "git log -S x", "git log -- --output=f", "git diff HEAD -- -x",
		"git log -L 1,2:f", "git branch --list --sort -committerdate");
	BLOCKED("git log -L -- --output=f", "git log --grep -- --output=f", "git log -S --output=f",
		"git stash list -- --output=f", "git fast-export -- --output=f", "git stash show -S --output=f",
		"git log --end-of-options --output=f", "git branch -- new");
}

Test(guard, what_git_refuses_with_usage_is_denied)
{
	BLOCKED("git config --get", "git config --get a.b c d", "git config --get user.name --global", "git config",
		"git config -l x", "git config --list x", "git config --get-regexp", "git config --get-urlmatch a.b",
		"git config --get-color", "git var", "git var GIT_EDITOR GIT_PAGER", "git var -l x",
		"git var GIT_EDITOR -l", "git -C", "git -C x -C", "git -c", "git cat-file", "git cat-file HEAD",
		"git cat-file -p", "git cat-file -p a b", "git cat-file --batch x", "git merge-base",
		"git merge-base HEAD", "git merge-base --is-ancestor HEAD", "git merge-base --is-ancestor a b c",
		"git rev-list", "git rev-list -5", "git blame", "git ls-tree", "git grep", "git grep -n",
		"git diff --no-index a", "git diff --no-index a b c", "git diff-index", "git diff-tree",
		"git symbolic-ref", "git check-attr -a", "git check-attr diff", "git check-ignore",
		"git count-objects x", "git verify-pack", "git merge-file -p a b", "git remote get-url",
		"git remote get-url a b", "git notes show a b", "git describe --dirty HEAD", "git rm -n",
		"git mv -n a", "git reflog exists", "git check-ref-format", "git check-ref-format a b",
		"git check-ref-format --bogus a", "git replace -l a b");
	ALLOWED("git config --get user.name", "git config --get user.name x", "git config --get-all a.b",
		"git config --get-regexp ^alias", "git config --get-urlmatch http https://x", "git config --list",
		"git config -l --show-origin", "git config --global --get user.email", "git config user.name",
		"git config --name-only --list", "git config --bool core.bare", "git config --default x --get a.b",
		"git config --get-color color.x red", "git var GIT_EDITOR", "git var -l", "git cat-file -p HEAD",
		"git cat-file -t HEAD", "git cat-file blob HEAD:f", "git cat-file -e HEAD",
		"git cat-file --batch-check", "git cat-file --batch",
		"git cat-file --batch-check --batch-all-objects", "git cat-file --batch=%(objectname)",
		"git merge-base main HEAD", "git merge-base --all a b", "git merge-base --octopus a b c",
		"git merge-base --is-ancestor a b", "git merge-base --fork-point main",
		"git merge-base --independent a b c", "git rev-list HEAD", "git rev-list --all --count",
		"git rev-list --count HEAD", "git rev-list --branches", "git rev-list --tags --max-count=1",
		"git rev-list --remotes=origin", "git rev-list --glob=x", "git rev-list -n 1 HEAD -- f",
		"git rev-list --stdin", "git rev-list --max-parents=0 HEAD", "git blame f",
		"git blame -L 1,2 HEAD -- f", "git blame -h", "git ls-tree HEAD", "git ls-tree -r --name-only HEAD d",
		"git grep x", "git grep -e x", "git grep -n -e a --and -e b -- f", "git grep -f patterns",
		"git diff --no-index a b", "git diff --no-index -- a b", "git diff", "git diff a b c",
		"git diff-index HEAD", "git diff-index --cached HEAD -- f g", "git diff-tree HEAD",
		"git diff-tree --stdin", "git diff-tree -r HEAD~1 HEAD",
		"git diff-tree --no-commit-id --name-only -r HEAD", "git diff-files", "git diff-files -- f",
		"git symbolic-ref HEAD", "git symbolic-ref --short HEAD", "git check-attr -a f",
		"git check-attr diff f", "git check-attr --stdin -a", "git check-attr --stdin diff",
		"git check-attr diff -- a b c", "git check-ignore f", "git check-ignore -v --stdin",
		"git check-ignore -v a b", "git count-objects -v", "git verify-pack -v x.idx",
		"git merge-file -p a b c", "git remote get-url origin", "git remote get-url --all origin",
		"git notes show HEAD", "git notes list", "git notes", "git describe", "git describe HEAD~1",
		"git describe --tags --always --dirty", "git describe --dirty=-x", "git mv -n a b",
		"git reflog exists refs/heads/main", "git check-ref-format refs/heads/x",
		"git check-ref-format --branch x", "git check-ref-format --allow-onelevel x",
		"git check-ref-format --no-allow-onelevel x/y", "git replace -l", "git replace -l x", "git replace",
		"git hash-object --no-filters f", "git hash-object --no-filters -t blob a b",
		"git hash-object --stdin", "git hash-object --stdin --no-filters", "git archive --list",
		"git archive -l", "git grep --no-index x", "git rev-parse --sq-quote a b",
		"git rev-parse --verify -q HEAD", "git rev-parse", "git show-ref --verify refs/heads/main",
		"git show-ref", "git show-ref main", "git cherry", "git cherry -v main", "git cherry a b c",
		"git fast-export --all", "git fast-export HEAD", "git bundle verify f", "git bundle list-heads f",
		"git config get a.b", "git config list");
}

Test(guard, what_has_no_use_for_reading_or_starts_programs_is_denied)
{
	BLOCKED("git fsck-objects", "git pickaxe f", "git get-tar-commit-id", "git show-index", "git column",
		"git stripspace", "git stage -n f", "git hash-object f", "git hash-object",
		"git hash-object --stdin --path=f", "git hash-object --stdin f", "git hash-object --stdin-paths",
		"git hash-object --no-filters -w f", "git archive HEAD", "git archive --format=zip HEAD",
		"git archive --list HEAD", "git grep --ext-grep x", "git rev-parse --sq-quote --output=x",
		"git rev-parse --sq-quote a -b");
}

Test(guard, words_make_a_form_write)
{
	ALLOWED("git branch", "git branch -v", "git branch -a", "git branch --list x", "git branch -l x",
		"git branch --merged main x", "git branch --no-contains v1", "git branch --show-current", "git tag",
		"git tag -l v*", "git tag -n x", "git tag --points-at HEAD", "git config user.name", "git config -l",
		"git config --get-all a.b x", "git config --global --list", "git config -f x --get a.b",
		"git symbolic-ref HEAD", "git symbolic-ref -q --short HEAD", "git remote", "git remote -v",
		"git remote show", "git remote show -n origin", "git remote get-url --all origin", "git notes",
		"git notes --ref=x list", "git replace -l x", "git help -a", "git help", "git submodule");
	BLOCKED("git branch x", "git branch -v x", "git branch -vv x", "git branch --sort=x y",
		"git branch --format=x y", "git branch --color y", "git branch --column y", "git branch -i y",
		"git branch -q y", "git branch -f x", "git branch --list --no-list x",
		"git branch --points-at HEAD --no-points-at x", "git tag v2", "git tag --sort=x v2",
		"git tag --format=x v2", "git tag --column v2", "git tag -i v2", "git tag -a v2", "git tag -v v1",
		"git config user.name x", "git config user.name -l", "git config -z a.b c",
		"git config --local a.b c", "git config --bool a.b true", "git config --type=int a.b 1",
		"git config --get --no-get a.b c", "git config -e", "git symbolic-ref HEAD refs/heads/x",
		"git symbolic-ref -d HEAD", "git symbolic-ref -m x HEAD", "git remote -v add x y",
		"git remote -v rm x", "git remote set-url x y", "git remote update", "git remote show origin",
		"git remote prune -n origin", "git notes add", "git notes --ref=x add", "git replace a b",
		"git help log", "git submodule update", "git submodule foreach x");
}

Test(guard, verbs_of_a_command_are_judged_by_themselves)
{
	ALLOWED("git stash list", "git stash show -p stash@{1}", "git reflog", "git reflog HEAD",
		"git reflog show --all", "git reflog exists refs/heads/x", "git worktree list --porcelain",
		"git bundle verify f", "git bundle list-heads f", "git bisect log", "git submodule --quiet status",
		"git sparse-checkout list", "git notes show", "git commit-graph verify", "git worktree prune -n",
		"git config list");
	BLOCKED("git stash", "git stash -u", "git stash push", "git stash drop", "git stash pop",
		"git stash create", "git reflog expire --all", "git reflog delete x", "git worktree",
		"git worktree add x", "git worktree prune", "git bundle create f HEAD", "git bundle unbundle f",
		"git bisect start", "git bisect run x", "git bisect view", "git sparse-checkout set x",
		"git notes prune", "git commit-graph write", "git notes prune -n --no-dry-run");
}

Test(guard, what_writes_files_or_starts_programs_is_denied_in_reading_commands)
{
	BLOCKED("git diff --output=f", "git diff --output f", "git log --output=f", "git blame --output=f x",
		"git reflog --output=f", "git shortlog --output=f", "git rev-list --output=f HEAD",
		"git diff --ext-diff", "git log -p --textconv", "git grep --textconv x",
		"git cat-file --textconv HEAD:f", "git cat-file --filters HEAD:f", "git grep -O x",
		"git archive -o f HEAD", "git archive --remote=x HEAD", "git archive --list --remote=x",
		"git archive --format=tar.gz HEAD", "git log --show-signature", "git log --format=%G?",
		"git log --pretty=format:%h%GS", "git log --format=%+G?", "git log --format=%h%%%-GK",
		"git log --pretty=tformat:%<(20)%+GS", "git tag --format=%(*signature:grade)",
		"git branch --sort=signature", "git tag --sort -*signature:key",
		"git for-each-ref --sort=v:signature", "git for-each-ref --format=%(signature)",
		"git log --remerge-diff", "git log --diff-merges=remerge", "git log --diff-merges r",
		"git diff --submodule=diff", "git rev-list --alternate-refs", "git format-patch -1",
		"git format-patch --stdout --range-diff=x -1", "git fsck --lost-found", "git interpret-trailers f",
		"git interpret-trailers --parse --in-place f", "git difftool", "git range-diff a b c",
		"git ls-remote origin", "git ls-remote --upload-pack=x .", "git fetch --dry-run", "git push -n",
		"git merge-tree a b", "git verify-commit HEAD", "git log --help",
		"git fast-export --export-marks=f HEAD", "git apply p", "git apply --check --apply p",
		"git apply --check --3way p", "git apply --stat --build-fake-ancestor=f p", "git merge-file a b c",
		"git commit --dry-run", "git clean -nf -i", "git add -n -p", "git mailinfo a b", "git unpack-file x");
	ALLOWED("git archive --list", "git format-patch --stdout -1", "git ls-remote --get-url",
		"git interpret-trailers --parse f", "git apply --check p", "git apply --numstat -R p",
		"git merge-file -p a b c", "git clean -n -f", "git diff --submodule=log",
		"git log --diff-merges=on", "git log --format=%gd%H", "git log --format=%%G",
		"git log --format=%+s%-b%%", "git tag --format=%(contents:signature)",
		"git branch --sort=-committerdate", "git tag --sort=-v:refname",
		"git for-each-ref --sort=*objecttype", "git cat-file --batch", "git commit -h");
}

Test(guard, options_before_the_command)
{
	ALLOWED("git", "git -C /x -C y log", "git -P log", "git --no-pager --no-optional-locks diff",
		"git --bare log", "git --literal-pathspecs ls-files", "git --version", "git -v", "git --help",
		"git --exec-path", "git --html-path", "git -c color.ui=always diff",
		"git -c core.quotePath=off status", "git -c core.pager=cat log",
		"git -c advice.detachedHead=false status", "git -c core.fsmonitor=false status",
		"git -c core.hooksPath=/dev/null status", "git -c core.untrackedCache=0 status",
		"git -c submodule.recurse=no grep x", "git -c pager.diff=cat diff", "git -c pager.log=off log",
		"git -c log.showSignature= log", "git -c gc.auto=0 log",
		"git -c core.fsmonitor= -c color.ui=never diff");
	BLOCKED("git -p log", "git --paginate log", "git -c alias.x=!y x", "git -c core.pager=x log",
		"git -c core.fsmonitor=x status", "git -c core.fsmonitor status",
		"git -c core.fsmonitor=cat status", "git -c core.hooksPath=/dev status",
		"git -c pager.log=less log", "git -c pager.log log", "git -c submodule.recurse=true status",
		"git -c log.showSignature=cat log", "git -c core.quotepathx=y status", "git -c diff.external=x diff",
		"git --config-env=core.pager=X log", "git --config-env core.pager=X log", "git --exec-path=/x log",
		"git --git-dir=/x log", "git --git-dir /x log", "git --work-tree=/x status", "git --namespace=x log",
		"git --super-prefix=x log", "git --bogus log", "git -C x commit", "git --help log");
}

Test(guard, unknown_commands_are_denied)
{
	BLOCKED("git config edit", "git update-server-info", "git rm -n f", "git rm --dry-run -r d");
	BLOCKED("git frobnicate", "git CO", "git Status", "git -- status", "git stauts", "git branch--list");
	judge(&strict, "git zz");
	cr_assert_eq(verdict.operation, EWS_GUARD_UNKNOWN);
	cr_assert_str_eq(verdict.subcommand, "zz");
}

Test(guard, git_is_found_behind_what_runs_it)
{
	ALLOWED("/usr/bin/git status", "/usr/lib/git-core/git-log", "git-status -s", "env git log",
		"env -i A=b git log", "env -u X --chdir=/ git log", "env GIT_PAGER=cat git log",
		"env GIT_OPTIONAL_LOCKS=0 git status", "command git log", "nice -n 5 git log", "nice -5 git log",
		"timeout -k 1 5 git status", "nohup time -p git log", "stdbuf -oL git log", "sudo -u x git log",
		"xargs git show --", "xargs -n1 git rev-parse --verify", "xargs -0 -I{} git log -1 -- {}",
		"xargs -I{} git show HEAD:{}", "find . -name x -exec git log -1 -- {} ;",
		"find . -exec git blame {} +", "command -v git", "env", "flock lock git status", "time git diff");
	BLOCKED("/usr/bin/git commit", "/usr/lib/git-core/git-commit", "git-commit -m x", "env git commit",
		"env -S git git commit", "env A=b git push", "command -p git commit", "nice git commit",
		"timeout --signal KILL 5 git commit", "nohup git push", "setsid -w git commit", "sudo git commit",
		"sudo -E A=b git commit", "xargs git add", "xargs git show", "xargs -n 1 git branch",
		"xargs -I{} git {}", "xargs -I{} git log {}", "xargs -I{} {} x", "xargs env", "xargs -i git show {}",
		"xargs git rev-parse", "find . -exec git add {} ;", "find . -exec true ; -execdir git rm {} +",
		"exec git commit", "builtin command exec git commit", "flock lock git commit",
		"busybox env git-commit", "ltrace -f git commit", "unshare -rn git push", "chroot / git commit",
		"fakeroot git commit", "setarch -R x86_64 git commit", "setpriv --reuid=1 git commit",
		"systemd-run --user -p A=b git push", "unbuffer git commit", "parallel git ::: commit");
	ALLOWED("unshare -rn git log", "chroot --userspec=a / git status", "setpriv --reuid 1 make",
		"fakeroot make", "systemd-run --scope make", "parallel rm ::: a b");
}

Test(guard, variables_that_change_what_git_does_are_denied)
{
	BLOCKED("env GIT_DIR=x git log", "env GIT_PAGER=x git log", "env GIT_EXTERNAL_DIFF=x git diff",
		"env GIT_CONFIG_COUNT=1 git log", "env GIT_TRACE=/x git log", "env GIT_SSH_COMMAND=x git log",
		"env PATH=x git log", "env LD_PRELOAD=x git log", "env GIT_CONFIG_GLOBAL=x git log",
		"env GIT_INDEX_FILE=x git status", "sudo PATH=x git log", "env HOME=/x git log",
		"env XDG_CONFIG_HOME=/x git log", "env LD_LIBRARY_PATH=/x git log", "env GCONV_PATH=/x git log",
		"env PERL5LIB=/x git log", "env HOME=/x git config --global --list");
	ALLOWED("env GIT_TRACE=1 git log", "env TZ=UTC LC_ALL=C git log", "env GIT_CONFIG_GLOBAL=/dev/null git log",
		"env PATH=x make", "env GIT_DIR=x make", "env HOME=/x make", "env -u HOME git log",
		"env EDITOR=true git log", "env ENV=test PYTHONPATH=src git log", "env TERM=dumb COLUMNS=80 git log");
}

Test(guard, variables_before_a_command_are_taken_as_env_would)
{
	ALLOWED("A=b git log", "GIT_PAGER=cat git log", "TZ=UTC LC_ALL=C git log", "GIT_DIR=x make", "A=b",
		"A=b env C=d git log", "a+b=c git commit");
	BLOCKED("A=b git commit", "GIT_DIR=x git log", "A=b GIT_EXTERNAL_DIFF=x git diff", "PATH=x git log",
		"HOME=x git log", "A=b nice git push", "LD_PRELOAD=x /usr/bin/git status");
}

Test(guard, other_commands_are_free_unless_they_write_into_git)
{
	ALLOWED("ls -la", "make", "cat .git/HEAD", "ls .git/hooks", "cp .git/config /tmp/x", "grep git f",
		"echo git commit", "which git", "rm -rf build .github .gitignore x.git", "sed -n 1p .git/config",
		"find .git -type f", "find . -name .git -prune -o -print", "apt-get install git", "tee x.git/y",
		"ln a b");
	BLOCKED("rm -rf .git", "rm .git/index.lock", "rm -r ./x/.git/", "mv .git x", "cp x .git/hooks/pre-commit",
		"cp -t .git/hooks x", "ln -s x .git/HEAD", "tee .git/HEAD", "truncate -s0 .git/index", "touch .git/x",
		"chmod +x .git/hooks/x", "sed -i s/a/b/ .git/config", "sed --in-place=x s/a/b/ .git/config",
		"dd if=x of=.git/HEAD", "mkdir .git", "find .git -delete", "find .git -type f -exec rm {} ;",
		"find . -name .git -exec rm -rf {} +", "nice rm -rf /x/.git", "install x .git/hooks/y",
		"curl -so .git/hooks/x http://x", "curl --output=.git/x http://x", "wget -O .git/hooks/x http://x",
		"wget -qO.git/x http://x", "ed .git/config", "sponge .git/HEAD", "setfacl -m u:x:r .git");
	ALLOWED("curl -so x http://x/.git/config", "wget -O - http://x/y.git", "ex file");
}

static void judge_words(const char *line)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;

	tear_down();
	split(&argv, line);
	cr_assert_eq(ews_guard_judge_words(&verdict, &strict, argv.items), 0);
}

Test(guard, a_text_that_is_handed_over_as_words_is_judged_as_one)
{
	static const char *const blocked[] = { "cd x && git push",
					       "git status && git push",
					       "git log | git commit -F -",
					       "cd x; git push",
					       "cd x ; GIT_DIR=y git log",
					       "make || env A=b git stash",
					       "make |& git push",
					       "! git push",
					       "{ git push ; }",
					       "if true ; then git push ; fi",
					       "if git push ; then make ; fi",
					       "while ! A=b git push ; do make ; done",
					       "make && ! time LC_ALL=C git push",
					       "make ; 2>&1 >x git push",
					       "make && A=b 2> x git push",
					       "time -v git push",
					       NULL };
	static const char *const allowed[] = { "cd x && git status",
					       "git log | head",
					       "find . -exec git log -- {} ;",
					       "make ; make install",
					       "git grep -e | -- git.c",
					       "! git diff --quiet",
					       "{ git log ; }",
					       "if true ; then git log ; fi",
					       "time -f %e git log",
					       "git log -- if",
					       "make |& tee x",
					       "make ; 2>&1 git log",
					       NULL };
	char whole[] = "git push", other[] = "cd x && git push", harmless[] = "/opt/my tool";
	char *argv[] = { whole, NULL };

	for (size_t i = 0; blocked[i]; i++) {
		judge_words(blocked[i]);
		cr_expect(verdict.is_blocked, "%s is allowed", blocked[i]);
	}
	for (size_t i = 0; allowed[i]; i++) {
		judge_words(allowed[i]);
		cr_expect_not(verdict.is_blocked, "%s: %s", allowed[i], verdict.reason);
	}
	tear_down();
	cr_assert_eq(ews_guard_judge_words(&verdict, &strict, argv), 0);
	cr_expect(verdict.is_blocked);
	cr_expect(strstr(verdict.suggestion, "--shell"));
	argv[0] = other;
	tear_down();
	cr_assert_eq(ews_guard_judge_words(&verdict, &strict, argv), 0);
	cr_expect(verdict.is_blocked);
	argv[0] = harmless;
	tear_down();
	cr_assert_eq(ews_guard_judge_words(&verdict, &strict, argv), 0);
	cr_expect_not(verdict.is_blocked);
}

static void expect_text(const char *text, bool is_blocked)
{
	tear_down();
	cr_assert_eq(ews_guard_judge_shell(&verdict, &strict, text), 0);
	cr_expect_eq(verdict.is_blocked, is_blocked, "%s: %s", text, is_blocked ? "is allowed" : verdict.reason);
}

Test(guard, each_command_of_a_text_is_judged)
{
	static const char *const allowed[] = {
		"git status && git log -3 | head",
		"cd x; git stash list; git stash show -p",
		"if git diff --quiet; then echo clean; fi",
		"test -n \"$(git status --porcelain)\" && echo dirty",
		"git log --oneline 2>/dev/null | wc -l >/tmp/n",
		"git log | grep 'git push'",
		"echo 'git commit' >script.sh",
		"bash -lc 'git log -1'",
		"sh <<\\E\ngit log\nE",
		"! git diff --exit-code",
		"GIT_PAGER=cat git log",
		"export PATH=$PATH:/x && git status",
		"cat .git/HEAD >/tmp/x",
		"make -j$(nproc) && $HOME/bin/tool",
		"ls | xargs -n1 git log --",
		"trap 'rm -f x' EXIT; git log",
		"f() { git log; }; f",
	};
	static const char *const blocked[] = {
		"git status && git push",
		"git status & git push",
		"(cd x && git commit -m x)",
		"git log; git stash",
		"x=$(git commit)",
		"echo `git commit`",
		"cat <<E\n$(git commit)\nE",
		"sh -c 'git commit'",
		"sh -c \"sh -c 'git commit'\"",
		"sh <<E\ngit commit\nE",
		"echo git commit | sh",
		"eval git commit",
		"eval \"git\" 'commit'",
		"trap 'git stash' EXIT",
		"echo git commit | at now",
		"echo git commit | parallel",
		"watch -n 1 git commit",
		"env git stash; ls",
		"f() { git commit; }; f",
		"git() { :; }; git status",
		"alias g=git",
		"g'i't com\"mit\"",
		"\\git commit",
		"/usr/bin/gi? commit",
		"{git,commit} -m x",
		"$(echo git) commit",
		"git $'commit'",
		"echo x >.git/HEAD",
		"exec 3>>\"$d\"/.git/config",
		"tee .git/hooks/x </dev/null",
		"export GIT_DIR=/x; git log",
		"GIT_EXTERNAL_DIFF=x git diff",
		"ls | xargs git add",
		"git log '",
	};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		expect_text(allowed[i], false);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(*blocked); i++)
		expect_text(blocked[i], true);
}

Test(guard, what_a_text_does_not_say_is_unknown)
{
	static const char *const allowed[] = {
		"git log \"HEAD~$n\"",
		"git show \"HEAD:$f\"",
		"git log -- \"$x\" $y *.c",
		"git log --since=\"$d\" --author \"$a\"",
		"git diff src/*.c",
		"git -C \"$d\" status",
		"git rev-parse --verify \"$x\"",
		"git branch --contains \"$x\"",
		"G=git; $G status",
		"G=log; git $G -1",
		"for f in a b; do git blame \"$f\"; done",
		"while read -r f; do git log -1 -- \"$f\"; done",
	};
	static const char *const blocked[] = {
		"git log $x",
		"git log \"$x\"",
		"git log HEAD~$n",
		"git log --author $a",
		"git log --format=\"$f\"",
		"git diff *.c",
		"git -C $d status",
		"git branch \"$x\"",
		"git stash \"$x\"",
		"git \"$x\"",
		"$x status",
		"G=git; $G commit",
		"G='git commit'; $G -m x",
		"G=log; G=commit; git $G",
		"G=log; read G; git $G",
		"G=log; while x; do git $G; G=commit; done",
		"for c in log push; do git $c; done",
		"for c; do git $c; done",
		"set -- git commit; \"$@\"",
		"sh -c \"$x\"",
	};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		expect_text(allowed[i], false);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(*blocked); i++)
		expect_text(blocked[i], true);
}

Test(guard, a_verdict_says_what_it_is_about)
{
	judge(&strict, "git commit -m x");
	cr_assert_str_eq(verdict.command, "git commit -m x");
	cr_assert_str_eq(verdict.subcommand, "commit");
	cr_assert_eq(verdict.operation, EWS_GUARD_WRITE);
	cr_assert_str_eq(verdict.reason, "Commits would permanently alter repository history");
	cr_assert(strstr(verdict.suggestion, "`git ews diff` shows your change; it is kept without a commit"));
	cr_assert(strstr(verdict.suggestion, "--policy inside"));
	judge(&strict, "git config --global a.b c");
	cr_assert(!strstr(verdict.suggestion, "--policy inside"));
	cr_assert_str_eq(verdict.policy, "read-only");
	judge(&strict, "git reset --hard");
	cr_assert_eq(verdict.operation, EWS_GUARD_DESTRUCTIVE);
	judge(&strict, "git push");
	cr_assert_not(strstr(verdict.suggestion, "--policy inside"));
	judge(&strict, "git status");
	cr_assert_eq(verdict.operation, EWS_GUARD_READ);
	cr_assert_null(verdict.reason);
	judge(&strict, "make");
	cr_assert_null(verdict.subcommand);
}

Test(guard, inside_all_is_allowed_that_stays_there)
{
	struct ews_guard_rules inside = EWS_GUARD_RULES_INIT;

	inside.policy = EWS_GUARD_INSIDE;
	allowed_by(&inside, (const char *const[]){ "git commit -am x",
						   "git add .",
						   "git branch -D x",
						   "git reset --hard",
						   "git stash",
						   "git -c user.name=x commit",
						   "git checkout -b x",
						   "git config user.name x",
						   "git log --output=f",
						   "git tag v2",
						   "git worktree add x",
						   "xargs git add",
						   "env GIT_AUTHOR_NAME=x git commit",
						   "git merge --bogus x",
						   "git config set a.b c",
						   "git config unset --local a.b",
						   "git maintenance run",
						   "git maintenance run --auto --task=gc",
						   "git archive --format=zip -o x.zip HEAD",
						   "git subtree split -P x -b y",
						   NULL });
	blocked_by(&inside, (const char *const[]){ "git push",
						   "git push --force origin x",
						   "git fetch",
						   "git pull",
						   "git remote add x y",
						   "git remote update",
						   "git clone x",
						   "git ls-remote x",
						   "git --git-dir=/x commit",
						   "git --work-tree /x add .",
						   "env GIT_DIR=/x git commit",
						   "git config --global a.b c",
						   "git submodule update",
						   "git frobnicate",
						   "git ews end x",
						   "rm -rf /x/.git",
						   "git config set --global a.b c",
						   "git config edit --global",
						   "git config unset --system a.b",
						   "git maintenance start",
						   "git maintenance register",
						   "git subtree push -P x up main",
						   "git subtree -P x push up main",
						   "git subtree pull -P x up main",
						   "git for-each-repo --config=a.b push",
						   "git archive --remote=ssh://h/r HEAD",
						   "git archive HEAD --remote x",
						   "git maintenance run --task=prefetch",
						   "git maintenance run --tas prefetch",
						   "git maintenance run --schedule=hourly",
						   "env GIT_CONFIG=/x git config a.b c",
						   NULL });
	judge(&inside, "git commit");
	cr_assert_eq(verdict.operation, EWS_GUARD_WRITE);
	cr_assert_str_eq(verdict.policy, "inside");
}

Test(guard, inside_what_git_is_told_to_run_is_judged_as_well)
{
	static const char *const texts[] = {
		"git rebase -x 'git push' main",
		"git rebase --exec='make && git push' main",
		"git rebase -i -x make --exec 'git push'",
		"git bisect run git push",
		"git bisect run sh -c 'git push'",
		"git submodule foreach git push",
		"git submodule foreach -q --recursive 'git fetch; :'",
		"git -C x submodule -q foreach 'git push'",
		"git difftool -x 'git push'",
	};
	static const char *const harmless[] = {
		"git rebase -x make main",    "git rebase -x 'git commit --amend --no-edit' main",
		"git bisect run ./test.sh",   "git bisect run sh -c 'make && git diff --quiet'",
		"git bisect start HEAD main", "git submodule foreach 'git status'",
		"git submodule foreach",      "git rebase --exec",
	};
	struct ews_guard_rules inside = EWS_GUARD_RULES_INIT;

	inside.policy = EWS_GUARD_INSIDE;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		tear_down();
		cr_assert_eq(ews_guard_judge_shell(&verdict, &inside, texts[i]), 0);
		cr_expect(verdict.is_blocked, "%s is allowed", texts[i]);
	}
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
		tear_down();
		cr_assert_eq(ews_guard_judge_shell(&verdict, &inside, harmless[i]), 0);
		cr_expect_not(verdict.is_blocked, "%s: %s", harmless[i], verdict.reason);
	}
}

Test(guard, settings_loosen_and_tighten)
{
	struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;

	rules.block_commit = false;
	allowed_by(&rules, (const char *const[]){ "git commit -m x", "git add f", NULL });
	blocked_by(&rules, (const char *const[]){ "git push", "git reset", NULL });
	rules.block_push = false;
	allowed_by(&rules, (const char *const[]){ "git push origin x", NULL });
	rules.allow_status = rules.allow_diff = false;
	judge(&rules, "git status");
	cr_assert(verdict.is_blocked);
	judge(&rules, "git diff-index HEAD");
	cr_assert(verdict.is_blocked);
	rules.enabled = false;
	allowed_by(&rules, (const char *const[]){ "git status", "git reset --hard", "git frobnicate", NULL });
}

static void expect_neutral(const char *line, const char *want)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT, neutral = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t i;

	split(&argv, line);
	ews_guard_neutral(&neutral, argv.items);
	/* Settings are many and come first; what matters here is the rest. */
	for (i = 0; i < neutral.n; i++) {
		if (!strcmp(neutral.items[i], "-c") && strchr(neutral.items[i + 1], '.'))
			i++;
		else
			ews_buf_addf(&text, "%s ", neutral.items[i]);
	}
	ews_buf_rtrim(&text);
	cr_expect_str_eq(text.ptr, want, "%s: %s", line, text.ptr);
}

Test(guard, neutral_options_stand_where_git_reads_them)
{
	expect_neutral("git log -p f", "git --no-pager --no-optional-locks log --no-ext-diff --no-textconv -p f");
	expect_neutral("git -C d diff", "git --no-pager --no-optional-locks -C d diff --no-ext-diff --no-textconv");
	expect_neutral("git blame f", "git --no-pager --no-optional-locks blame --no-textconv f");
	expect_neutral("git status", "git --no-pager --no-optional-locks status");
	expect_neutral("git reflog show x",
		       "git --no-pager --no-optional-locks reflog show --no-ext-diff --no-textconv x");
	expect_neutral("git stash show",
		       "git --no-pager --no-optional-locks stash show --stat --no-ext-diff --no-textconv");
	expect_neutral("git stash show -p",
		       "git --no-pager --no-optional-locks stash show --no-ext-diff --no-textconv -p");
	expect_neutral("git --version", "git --no-pager --no-optional-locks --version");
	expect_neutral("git commit -m x", "git commit -m x");
	expect_neutral("git ews status", "git ews status");
}
