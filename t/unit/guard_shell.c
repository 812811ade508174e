/*
 * The guard over shell texts: those that agents write must pass, and what they could hide must not.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "work/guard.h"

static void check(const char *text, bool is_blocked, const char *reason)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;

	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, text), 0);
	cr_expect_eq(verdict.is_blocked, is_blocked, "%s: %s", text, verdict.reason ? verdict.reason : "is allowed");
	cr_expect_str_eq(verdict.command, text);
	if (reason)
		cr_expect(verdict.reason && strstr(verdict.reason, reason), "%s: %s", text,
			  verdict.reason ? verdict.reason : "has no reason");
}

#define CHECK_ALL(texts, is_blocked)                                  \
	for (size_t i = 0; i < sizeof(texts) / sizeof(*(texts)); i++) \
	check((texts)[i], is_blocked, NULL)

Test(guard_shell, what_agents_write_to_read_passes)
{
	static const char *const texts[] = {
		"git status",
		"git log --oneline | head -5",
		"git diff > /tmp/x",
		"git diff HEAD~1 -- src/a.c 2>/dev/null | grep '^+'",
		"git show HEAD:lib/a.c | sed -n 1,20p",
		"if git diff --quiet; then echo clean; fi",
		"x=$(git rev-parse HEAD) && echo \"$x\"",
		"cd dir && git status",
		"cd \"$(git rev-parse --show-toplevel)\" && git status --short",
		"cd ~/proj && git -C sub log -3",
		"git -C \"$dir\" status",
		"for f in *.c; do git blame -- \"$f\"; done",
		"for f in src/*.c; do git blame \"$f\"; done",
		"for f in a.c b.c; do git log --oneline $f; done",
		"for i in 1 2 3; do git show HEAD~$i:README; done",
		"git ls-files | while read -r f; do git log -1 --format=%ad -- \"$f\"; done",
		"git ls-files '*.c' | xargs wc -l",
		"git diff --name-only | xargs -I{} git log -1 --format=%h -- {}",
		"git diff --name-only | xargs -I{} sh -c 'git log -1 -- \"$1\"' sh {}",
		"base=$(git merge-base main HEAD); git diff \"$base\"..HEAD --stat",
		"git diff $(git merge-base main HEAD)",
		"for c in $(git log -3 --format=%h); do git show $c --stat; done",
		"source env/bin/activate && git status",
		"git log $(git rev-list --max-parents=0 HEAD)..HEAD",
		"n=5; git log -n $n --oneline",
		"git log -n \"$n\"",
		"git log HEAD~\"$n\"..HEAD",
		"git show \"HEAD~$n\"",
		"git log --since=\"$(date -d yesterday +%F)\" --author=\"$USER\"",
		"git grep -n foo -- '*.c' || true",
		"git log --format='%h %s' -- \"$@\"",
		"test -n \"$(git status --porcelain)\" && echo dirty",
		"[ -d .git ] && git status",
		"[[ -n $(git status -s) ]] && echo dirty",
		"[[ $x == y && -n $z ]] && git status",
		"git rev-parse --git-dir >/dev/null 2>&1 || exit 1",
		"git log -3; git status; git diff --stat",
		"(cd sub && git log -1) & wait",
		"echo $x; ls $y *.c; rm -f $z",
		"make -j$(nproc) 2>&1 | tee build.log",
		"cat <<'EOF' > notes\nrun git commit later\nEOF\n",
		"cat <<EOF\n$(git log -1)\nEOF",
		"export PATH=$PATH:/opt/bin; git status",
		"PATH=\"$PATH:/opt/bin\" git status",
		"export PATH=\"$PATH:/x\" FOO=$bar; git log",
		"cd x && git status && export PATH=/opt/bin:$PATH && make",
		"GIT_PAGER=cat git log",
		"export GIT_PAGER=cat; git diff",
		"sh -c 'git status; git diff'",
		"bash -lc \"git log -3\"",
		"env LC_ALL=C git log -1",
		"sh <<'EOF'\ngit status\nEOF",
		"eval 'git status'",
		"trap 'rm -f \"$tmp\"' EXIT; trap - INT; git status",
		"tmp=$(mktemp) && git diff > \"$tmp\"",
		"find . -name '*.c' -exec git log -1 -- {} \\;",
		"time git log -1; timeout 5 git status",
		"f() { git status; }; f",
		"\"$HOME\"/bin/tool --x; ~/bin/tool; \"$dir/run\" a",
		"set -e; read -r a b; git status",
		"echo 'git commit' >> .gitignore",
		"diff <(git show HEAD:a) <(git show HEAD~1:a)",
		"git status && (exit 0) || { echo no; }",
		"case $(git rev-parse HEAD) in abc*) git log -1 ;; *) : ;; esac",
		"while read l; do echo \"$l\"; done < <(git ls-files)",
		"local x=(1 2); git status",
		"git log \"$PWD/src\"",
		"# git commit\ngit status # and git push",
		"printf '%s\\n' \"$(git log -1 --format=%B)\"",
		"git diff --stat >&2",
		"python3 - <<'EOF'\nimport os\nEOF",
		"git config --get user.name",
	};

	CHECK_ALL(texts, false);
}

Test(guard_shell, what_agents_write_every_day_passes)
{
	static const char *const texts[] = {
		"git -C x log",
		"git log | head",
		"git diff --stat && git status -s",
		"git log 2>&1 | tail -3",
		"git status 2>/dev/null",
		"test -n \"$(git status --porcelain)\"",
		"[ -z \"$(git diff --name-only)\" ] || echo dirty",
		"git log --format='%h %s' -n 5 | cat",
		"(cd sub && git status)",
		"git rev-parse --short HEAD",
		"time git status",
		"git grep -n foo -- '*.c' | wc -l",
		"git ls-files -z | xargs -0 wc -l",
		"git ls-files -z | xargs -0 -n1 git log -1 --format=%h --",
		"git diff --name-only | while read -r f; do echo \"== $f\"; git diff -- \"$f\" | head -20; done",
		"git log --oneline | grep -i fix | head -n 5",
		"git log -5 --pretty=format:\"%h %an %s\" --date=short",
		"git log --since=\"2 weeks ago\" --author=\"$(git config user.name)\" --oneline",
		"git show HEAD --stat | tail -1",
		"git diff HEAD~3..HEAD -- src/ ':!src/vendor'",
		"git blame -L 10,20 src/a.c | sed 's/(.*)//'",
		"git log --all --graph --decorate --oneline | head -40",
		"cd /repo && git log --oneline -5 && git status --short",
		"cd \"$(dirname \"$0\")/..\" && git status",
		"BRANCH=$(git rev-parse --abbrev-ref HEAD); echo \"on $BRANCH\"",
		"echo \"Branch: $(git branch --show-current), commit $(git rev-parse --short HEAD)\"",
		"git branch -a | cat",
		"git --no-pager log -3",
		"git --no-pager diff --cached",
		"git diff --no-color | sed -n '1,50p'",
		"git log -p -1 -- file | less",
		"git log --follow -- README.md | awk '/^commit/{print $2}'",
		"git show $(git rev-parse HEAD):README.md",
		"git diff main...HEAD --name-only | sort | uniq -c",
		"if [ -n \"$(git status -s)\" ]; then git diff; fi",
		"git rev-parse --is-inside-work-tree >/dev/null 2>&1 && echo yes",
		"git rev-parse --is-inside-work-tree &>/dev/null && echo yes",
		"ROOT=$(git rev-parse --show-toplevel); cd \"$ROOT\" && ls",
		"ROOT=\"$(git rev-parse --show-toplevel)\"; find \"$ROOT/src\" -name '*.c' | head",
		"git ls-files | grep -v test | xargs grep -n TODO",
		"git ls-files '*.py' | xargs -r python3 -m py_compile",
		"git log --format=%H -1 | cut -c1-8",
		"for f in $(git diff --name-only HEAD~1); do echo \"$f\"; done",
		"for f in $(git ls-files '*.c'); do wc -l \"$f\"; done",
		"git stash list | wc -l",
		"git diff > /tmp/my.patch",
		"git diff | tee /tmp/my.patch",
		"git log -1 --format=%cd --date=iso",
		"git describe --tags --always 2>/dev/null || echo none",
		"git shortlog -sn HEAD | head",
		"git cat-file -p HEAD^{tree}",
		"git ls-tree -r --name-only HEAD | head",
		"git merge-base --is-ancestor main HEAD && echo merged",
		"git log main..HEAD --oneline | wc -l",
		"git diff --check",
		"git status --porcelain=v1 | awk '{print $2}'",
		"git check-ignore -v build/x",
		"git remote -v",
		"git config --get remote.origin.url",
		"git config --list --show-origin | grep user",
		"git tag -l | tail -5",
		"git reflog | head -5",
		"git worktree list",
		"python3 -m pytest -q && git diff --stat",
		"make test 2>&1 | tail -20; git status -s",
		"npm test && git diff --name-only",
		"git diff --name-only --diff-filter=U",
		"git log --grep='fix' -i --oneline",
		"git show HEAD:src/a.c > /tmp/a.c && diff /tmp/a.c src/a.c",
		"diff <(git show HEAD:a.c) a.c",
		"git show HEAD:a.c | diff - a.c",
		"git diff --word-diff=color | cat",
		"git log -S'foo' --oneline -- src",
		"git log -L :main:src/a.c -1",
		"export GIT_PAGER=cat; git log -2",
		"export GIT_PAGER=cat PAGER=cat && git diff",
		"LC_ALL=C git status",
		"GIT_PAGER= git log -1",
		"set -euo pipefail; git status",
		"set -x; git diff --stat; set +x",
		"pwd; ls -la; git status",
		"echo \"--- status\"; git status; echo \"--- log\"; git log -3",
		"git diff HEAD -- \"$FILE\"",
		"git log -1 --format=\"%an <%ae>\"",
		"git log -n 20 --format=\"%h %ad %s\" --date=short --no-merges",
		"git rev-list --count HEAD",
		"git rev-list --left-right --count main...HEAD",
		"git for-each-ref --sort=-committerdate --format='%(refname:short) %(committerdate:relative)' refs/heads/ | head",
		"git status; true",
		"timeout 10 git log -1",
		"which git && git --version",
		"command -v git >/dev/null && git status",
		"type git",
		"git help -a | grep stash",
		"man git-log",
		"python3 -c \"print(1)\"",
		"python3 -c \"import json,sys; print(json.load(sys.stdin)['a'])\"",
		"node -e \"console.log(1)\"",
		"perl -ne 'print if /x/' file",
		"perl -pi -e 's/a/b/' src/x.c",
		"awk '{print $1}' f",
		"git log --oneline | awk '{print $1}'",
		"git log --oneline | perl -ne 'print if /fix/'",
		"git diff | python3 -c \"import sys; print(len(sys.stdin.read()))\"",
		"sed -n '1,20p' .gitignore",
		"grep -rn \"git\" README.md",
		"rg git src | head",
		"cat .gitignore .gitattributes",
		"ls .git/hooks; cat .git/config",
		"cat .github/workflows/ci.yml",
		"cp .gitignore /tmp",
		"echo '*.o' >> .gitignore",
		"sed -i 's/foo/bar/' $(git ls-files '*.c')",
		"sed -i 's/foo/bar/' $(git grep -l foo)",
		"rm -rf build && mkdir build && cd build && cmake .. && make -j4",
		"[ \"$(git rev-parse HEAD)\" = \"$(git rev-parse main)\" ] && echo same",
		"test \"$(git rev-parse --abbrev-ref HEAD)\" = main || exit 1",
		"git diff --quiet || echo changed",
		"git diff --exit-code --stat",
		"! git diff --quiet && echo changed",
		"x=$(git log -1 --format=%s); echo \"$x\" | grep -q fix",
		"n=$(git rev-list --count HEAD); echo $((n+1))",
		"git log HEAD~5..HEAD --format=%B | wc -w",
		"git log --oneline --no-decorate -n \"${N:-5}\"",
		"git show --name-only --format= HEAD | while IFS= read -r f; do [ -f \"$f\" ] && wc -l \"$f\"; done",
		"{ git status; git diff; } | head -100",
		"{ git log -1; echo; git diff --stat; } 2>&1",
		"git status > /dev/null",
		"git log -1 > /dev/null 2>&1 && echo ok",
		"git log -1 >&2",
		"git diff 2>&1 >/dev/null | head",
		"bash -c 'git status && git log -1'",
		"sh -c \"git log -1\"",
		"env -i PATH=\"$PATH\" HOME=\"$HOME\" make",
		"nohup make > build.log 2>&1 &",
		"find . -name '*.c' | head | xargs -n1 git blame --",
		"find . -path ./.git -prune -o -name '*.h' -print",
		"find . -type f -not -path './.git/*' | wc -l",
		"grep -rn --exclude-dir=.git foo .",
		"tar czf /tmp/x.tgz --exclude=.git .",
		"du -sh .git",
		"ls -la .git | head",
		"cat \"$(git rev-parse --git-dir)/HEAD\"",
		"source .venv/bin/activate && python -m pytest",
		". ./env.sh; git status",
		"git log --oneline -10 -- \"$(pwd)\"",
		"git -C \"$(git rev-parse --show-toplevel)\" status",
		"git -C .. log -1",
	};

	CHECK_ALL(texts, false);
}

Test(guard_shell, what_changes_is_found_wherever_it_stands)
{
	static const char *const texts[] = {
		"git status; git commit -m x",
		"git status && git push",
		"git log | git commit -F -",
		"git status & git reset --hard",
		"git status\ngit checkout -- .",
		"echo $(git commit -m x)",
		"echo \"`git push`\"",
		"echo \"${x:-$(git commit)}\"",
		"x=$(git stash)",
		"if true; then git clean -fdx; fi",
		"for i in 1; do git commit; done",
		"f() { git commit; }",
		"case x in x) git commit;; esac",
		"{ git commit; }",
		"(git commit)",
		"! git commit",
		"true | ! git commit",
		"[[ a || git ]] && git commit",
		"cat <<EOF\n$(git commit)\nEOF",
		"sh <<EOF\ngit commit\nEOF",
		"bash -s <<<'git commit'",
		"cat <<EOF | sh\nx\nEOF",
		"sh -c 'git commit -m x'",
		"bash -lc 'cd x && git commit'",
		"sh -c \"sh -c 'git commit'\"",
		"eval git commit",
		"eval \"git com\"mit",
		"trap 'git commit' EXIT",
		"alias g='git commit'",
		"env git commit",
		"command git commit",
		"exec git commit",
		"xargs git commit",
		"echo a | xargs -n1 git checkout",
		"find . -exec git rm {} +",
		"tmux new -d 'git push --force'",
		"tmux -f conf new -ds y -- git push",
		"tmux send-keys -t x 'git push' Enter",
		"tmux popup -d /tmp git push",
		"screen -dmS x git push",
		"screen -S s -X stuff 'git push'",
		"[[ $x =~ a|git push ]]",
		"time git commit",
		"nice nohup timeout 5 git commit",
		"sudo git commit",
		"/usr/bin/git commit",
		"git-commit -m x",
		"/usr/lib/git-core/git-commit",
		"gi\\\nt commit",
		"g''it com\\mit",
		"A=1 B=2 git commit",
		"</dev/null git commit",
		"diff <(git commit) x",
		"coproc git commit",
		"! { git commit; }",
	};

	CHECK_ALL(texts, true);
}

Test(guard_shell, the_text_of_a_shell_is_found_behind_all_its_options)
{
	static const char *const texts[] = {
		"sh -c -- 'git push'",
		"sh -c -e 'git push'",
		"sh -ec -u 'git push'",
		"bash -c -x -- 'git push'",
		"bash -c - 'git push'",
		"bash -o pipefail -c 'git push'",
		"bash -ceuo pipefail 'git push'",
		"bash -c -euo pipefail 'git push'",
		"bash -oc pipefail 'git status'",
		"bash -O extglob +B -c 'git push'",
		"bash --rcfile x -c 'git push'",
		"bash --init-file x --norc -c 'git push'",
		"zsh --emulate sh -c 'git push'",
		"sh $flags -c 'git push'",
	};
	static const char *const harmless[] = {
		"sh -c -- 'git status'",
		"bash -c -e 'git status' x push",
		"bash -euo pipefail -c 'git log -3 | head'",
		"bash -ceuo pipefail 'git log -3 | head'",
		"bash --rcfile x -c 'make'",
		"bash -x script.sh -c 'git push'",
		"bash --norc -i",
		"sh $flags script.sh",
		"bash -oc pipefail 'make'",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
}

Test(guard_shell, arithmetic_is_no_command_and_hides_none)
{
	static const char *const texts[] = {
		"(( a = 1 << 2 ))\ngit push", "(( a = $(git push) ))",
		"(( a ))\ngit push",          "((git push))",
		"(($x commit); git status)",  "( ($x commit) )",
		"a[1<<2]=x\ngit push",        "declare -A a; a[x #]=1; git push",
	};
	static const char *const harmless[] = {
		"if (( $n > 3 )); then git status; fi",
		"if (( $# == 0 )); then git status; fi",
		"if (( ${#files[@]} > 0 )); then git diff -- \"${files[@]}\"; fi",
		"if (( $(git rev-list --count HEAD) > 5 )); then echo many; fi",
		"while (( i < 3 )); do git log -1; (( i++ )); done",
		"(( x = 1 + 2 )); git log -1",
		"(( ! x || y )) && git status",
		"a[0]=1; a[i+1]=2; git status",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
	check("(( a = 1 << 2 ))\ngit push", true, "shells differ");
}

Test(guard_shell, a_pattern_that_stands_for_a_git_directory_is_one)
{
	static const char *const texts[] = {
		"rm -rf .git*",
		"rm -rf ./.g*/",
		"rm -rf .*",
		"rm -rf .[!.]*",
		"rm -rf .??*",
		"rm -rf {.git,build}",
		"mv .git{,.old}",
		"mv .* ../x",
		"rm -f \"$(git rev-parse --git-dir)/index.lock\"",
		"rm $(git rev-parse --git-common-dir)/HEAD",
		"cp hook \"$(git rev-parse --git-path hooks)/pre-commit\"",
		"rm -rf $GIT_DIR/refs",
		"find . -exec rm -rf .git* {} +",
	};
	static const char *const harmless[] = {
		"rm -f .*.swp",
		"rm -rf ./* build/*",
		"rm -rf .github* .gitignore* .cache*",
		"rm -rf .git$x",
		"rm -rf /tmp/x/.*",
		"rm -rf .cache{,.old}",
		"ls -d .git*; cat .g*",
		"cp -r .git* /tmp",
		"cp \"$(git rev-parse --git-dir)/config\" /tmp/x",
		"test -e \"$(git rev-parse --git-dir)/MERGE_HEAD\" || git status",
		"sed -i '/.git/d' .dockerignore",
		"sed -i -e 's/.git//' -e 's/x/y/' urls",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
	check("sed -i 's/x/y/' .git/config", true, "'.git/config'");
	check("sed -i -f x .git/config", true, "'.git/config'");
}

Test(guard_shell, a_subshell_that_went_elsewhere_leaves_the_shell_where_it_is)
{
	static const char *const texts[] = {
		"(cd .git && rm HEAD)",
		"cd .git; (cd .. && ls); rm HEAD",
		"cd .git; x=$(cd /tmp && pwd); rm HEAD",
		"(cd .git; (ls); rm HEAD)",
		"x=$(cd /tmp && pwd); git log > x",
		"(cd /tmp && git log > x); git log > x",
	};
	static const char *const harmless[] = {
		"(cd .git && ls); touch foo",
		"(cd .git/hooks; ls) && echo x > y",
		"x=$(cd .git && pwd); rm y",
		"(cd /tmp && git log > x); ls > y",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
}

Test(guard_shell, find_may_be_told_to_leave_the_git_directory_out)
{
	static const char *const texts[] = {
		"find . -path './.git/*' -delete",
		"find . -name .git -exec rm -rf {} +",
		"find . -type d -name .git -print0 -exec rm -r {} \\;",
		"find .git -not -path '*/.git/hooks/*' -delete",
		"find . -name x -prune -o -path './.git/*' -exec rm {} +",
		"find . -not -name x -path './.git/*' -delete",
		"find . ! ! -path './.git/*' -delete",
		"find . -not \\( ! -path './.git/*' \\) -delete",
		"find . -path ./.git -exec rm -r {} + -prune",
		"find . -path ./.git -o -prune -o -exec rm {} +",
		"find . \\( -path ./.git -o -name x \\) -exec rm -r {} +",
		"find . -not -path './.git/*' -o -exec rm {} +",
		"find . \\( ! -path ./.git -o -name x \\) -delete",
		"find . \\( ! -path './.git/*' -o -name x \\) -delete",
		"find . ! \\( -path './.git/*' -name x \\) -delete",
		"find . ! -name .git -delete",
		"find . ! -path ./.git -exec rm {} +",
		"tar -C .git -xf x",
		"tar xfC x .git",
		"tar -xf x --directory=.git/hooks",
		"tar -cf .git/config x",
		"unzip x.zip -d .git",
		"cpio -iD .git",
		"find . ! \\( -path ./.git -o -name x \\) -print -o -delete",
	};
	static const char *const harmless[] = {
		"find . -type f -not -path './.git/*' -exec sed -i 's/a/b/' {} +",
		"find . -type f ! -path '*/.git/*' -exec sed -i 's/a/b/' {} \\;",
		"find . -not -path './.git/*' -name '*.pyc' -delete",
		"find . -path ./.git -prune -o -type f -exec sed -i 's/a/b/' {} +",
		"find . -name .git -type d -prune -o -name '*.o' -exec rm {} +",
		"find . \\( -path ./.git -o -path ./node_modules \\) -prune -o -type f -exec chmod 644 {} +",
		"find . -type f -not \\( -path './.git/*' -o -path './x/*' \\) -exec rm {} +",
		"find . -newer .git/index -name '*.o' -delete",
		"find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +",
		"find . ! \\( -name x -o -path './.git/*' \\) -type f -delete",
		"tar -C .git -cf /tmp/x.tar .",
		"tar -tf x.tar .git",
		"tar xf x.tar --exclude .git --exclude=.git",
		"unzip x.zip -d src",
		"find . -name '*.c' -exec sed -i 's/a/b/' {} \\;",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
}

Test(guard_shell, what_names_our_own_git_is_no_variable_to_set)
{
	static const char *const texts[] = {
		"EWS_GIT=/tmp/x git status",
		"EWS_GUARD_LEVEL=off git status",
		"export EWS_GUARD_RULES=off; git log",
	};

	CHECK_ALL(texts, true);
	check("EWS_SESSION=x git status", false, NULL);
}

Test(guard_shell, a_command_is_found_behind_the_words_of_who_carries_it)
{
	static const char *const texts[] = {
		"uv run git push",
		"uv run -q --with x git push",
		"poetry run sh -c 'git push'",
		"npx git push",
		"npm exec -- git push",
		"bundle exec git push",
		"mise exec node@20 -- git push",
		"direnv exec . git push",
		"nix develop .#x -c git push",
		"nix-shell -p git --run 'git push'",
		"conda run -n x git push",
		"xvfb-run -a git push",
		"ls | entr git push",
		"ls | entr -rs 'make && git push'",
		"watchexec -e c -- git push",
		"hyperfine -w 3 'git push'",
		"perf stat -e cycles git push",
		"gdb --args git push",
		"fd -e c -x git add",
		"fd -e c -X git log",
		"ssh-agent sh -c 'git push'",
		"faketime '2020-01-01' git push",
		"gosu nobody git push",
		"runuser -u nobody -- git push",
		"flock x --command 'git push'",
		"flock -w 5 x -c 'git push'",
		"setarch -R git push",
		"setarch x86_64 -R git push",
		"linux64 git push",
		"i386 -R -- git push",
		"bun x git push",
		"runuser -l nobody -c 'git push'",
		"noglob git push",
		"xvfb-run -a env -i timeout 5 git push",
		"rbash -c 'git push'",
		"yash -c 'git push'",
		"fish -c 'git push'",
		"fish --command='git push'",
		"tcsh -fc 'git push'",
		"script -qc'git push' /dev/null",
		"script -qec 'git push' /dev/null",
	};
	static const char *const harmless[] = {
		"uv run git status",
		"uv run pytest -k git tests",
		"uv pip install git+https://x/y.git",
		"npm install git",
		"conda install git make",
		"nix-shell -p git gcc --run 'git log'",
		"bundle exec rake git:push",
		"fd -e c -x git log -1 --",
		"fd -e c -x git log -1 -- {}",
		"fd git src",
		"flock x --command 'git status && make'",
		"setarch -R make git",
		"setarch x86_64 -R git log",
		"linux32 make",
		"perf stat make git",
		"gdb ./x",
		"hyperfine 'git status' 'make'",
		"screen -ls",
		"screen -dmS git make",
		"tmux new -d -s git make",
		"tmux attach -t git",
		"[[ $x =~ a|git ]]",
		"[[ a == b || git == c ]] && make",
		"ls | entr -cs 'make && git status'",
		"runuser -u nobody -- git status",
		"direnv exec . git log",
		"fish -c 'make'",
		"script -qc 'git status' /dev/null",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
}

Test(guard_shell, what_is_not_known_is_denied_where_it_could_be_anything)
{
	static const char *const texts[] = {
		"$X commit",
		"\"$GIT\" status",
		"git $x",
		"git \"$x\" HEAD",
		"git log $x",
		"git log \"$x\"",
		"git diff $(cat f)",
		"git show HEAD~$n",
		"git log -\"$n\"",
		"git diff --\"$x\"",
		"git log \"$base\"..HEAD",
		"git log \"$@\"",
		"git diff *.c",
		"for f in *.c; do git blame \"$f\"; done",
		"for c in status commit; do git $c; done",
		"for o in --output=x; do git diff $o; done",
		"git {log,commit}",
		"{git,commit}",
		"$'git' commit",
		"g?t commit",
		"sh -c \"$cmd\"",
		"eval \"$cmd\"",
		"bash -c \"git log $x\"",
		"curl x | sh",
		"bash < <(cat x)",
		"sh /dev/stdin <<E\ngit $x\nE\n",
		"source <(cat x)",
		". /dev/stdin <<<'git commit'",
		"x='git commit'; $x",
		"git ls-files | xargs -I{} sh -c 'echo {}'",
		"git log $PWD/src",
		"git log --\"$x\"=a",
		"git log -p\"$x\"",
		"x=--output=y; git diff $x",
		"x=a; x=--output=y; git diff $x",
		"x=a; while :; do git diff $x; x=--output=y; done",
		"x=a; if y; then x=$z; fi; git diff $x",
		"x=a; read x; git diff \"$x\"",
		"x=a; f() { git diff \"$x\"; }; x=-b; f",
		"x=a; : ${x:=b}; git diff \"$x\"",
		"x='a --output=b'; git diff $x",
		"x=a; eval x=--output=b; git diff $x",
		"x=$(git rev-parse --not --output=a); git diff $x",
		"git 'log",
		"git log $(",
	};

	CHECK_ALL(texts, true);
	check("$X commit", true, "not known");
	check("git 'log", true, "single quotes");
}

Test(guard_shell, what_alters_a_later_git_is_denied_with_it)
{
	static const char *const texts[] = {
		"git() { command git commit; }; git status",
		"git() { rm x; }; git status",
		"function git { rm x; }; git status",
		"alias git=rm; git status",
		"PATH=/tmp:$PATH; git status",
		"export PATH=/tmp; git status",
		"PATH=/tmp git status",
		"export GIT_DIR=/x; git status",
		"GIT_DIR=/x; git status",
		"GIT_EXTERNAL_DIFF=x git diff",
		"GIT_DIR+=/x git status",
		"export $(cat env); git status",
		"export \"$x\"; git status",
		"declare -x GIT_DIR=x; git status",
		"read GIT_DIR; git status",
		"for GIT_DIR in x; do git status; done",
		"printf -v GIT_DIR x; git status",
		"hash -p /tmp/x git; git status",
		"eval 'export GIT_DIR=x'; git status",
		"export GIT_DIR=x; sh -c 'git status'",
		"f() { git status; }; export GIT_DIR=x; f",
		"while :; do git status; export GIT_DIR=x; done",
		"command export GIT_DIR=x; git status",
		"export GIT_DIR=x && git log | cat",
	};
	static const char *const harmless[] = {
		"export GIT_DIR=x; make",    "git status; export GIT_DIR=x", "PATH=/tmp:$PATH; make",
		"gitk() { :; }; git status", "alias ll='ls -l'; git status", "unset GIT_DIR; git status",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
	check("export GIT_DIR=/x; git status", true, "GIT_DIR=/x");
}

Test(guard_shell, redirections_into_a_git_directory_are_denied)
{
	static const char *const texts[] = {
		"echo x > .git/HEAD",
		"echo x >> ./a/.git/config",
		"> .git/hooks/pre-commit",
		"echo x > \"$d/.git/HEAD\"",
		"echo x > .git/$f",
		"echo x > \"$(git rev-parse --git-dir)/HEAD\"",
		"echo x > $GIT_DIR/HEAD",
		"{ echo x; } > .git/HEAD",
		"cat <<EOF > .git/config\nx\nEOF",
		"cd .git && echo x > HEAD",
		"cd .git/refs && : > heads/x",
		"cd .git && rm HEAD",
		"echo x | tee .git/HEAD",
		"rm -rf .git",
		"cp x \"$d\"/.git/config",
	};
	static const char *const harmless[] = {
		"cat < .git/HEAD",
		"cat .git/HEAD > /tmp/x",
		"echo x > .github/x",
		"echo x > a.git",
		"cd .git && ls && cat HEAD >/tmp/x 2>&1",
		"cd .git; cat HEAD; cd ..; echo x > y",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
}

Test(guard_shell, the_output_of_git_goes_to_no_file_but_a_temporary_one)
{
	static const char *const texts[] = {
		"git diff > fix.patch",
		"git log >> notes.md",
		"git show HEAD:a.c >| a.c",
		"git show HEAD:a.c > src/a.c",
		"git log 2> err",
		"git log &> out",
		"git log >& out",
		"git log <> out",
		"git log > \"$out\"",
		"git log > ~/log",
		"git log > $HOME/log",
		"git log > /etc/motd",
		"git log > /tmp/../etc/motd",
		"git log > /tmpx/y",
		"git log > /dev/sda",
		"git log | head >&2; git diff >x",
		"{ git log; git diff; } > x",
		"(git log) > x",
		"if true; then git log; fi > x",
		"for i in 1 2; do git log -$i; done > x",
		"{ echo; { git log; } >x; } >/dev/null",
		"{ git log; } 2>&1 > x | cat",
		"timeout 5 git log > x",
		"git ls-files | xargs git log -1 -- > x",
		"sh -c 'git log' > x",
		"sh -c 'git log > x'",
		"x=$(mktemp x.XXX); git log > $x",
		"x=$(mktemp -p .); git log > $x",
		"cd src && git show HEAD:a.c > a.c",
	};
	static const char *const harmless[] = {
		"git diff > /tmp/fix.patch",
		"git diff > /var/tmp/x",
		"git diff > \"$TMPDIR/x\"",
		"git diff > \"${TMPDIR:-/tmp}/x\"",
		"git diff > ${TMPDIR:-/tmp}/x.$$",
		"git log > /dev/null 2>&1",
		"git log &> /dev/null",
		"git log > /dev/stderr",
		"git log > /dev/tty",
		"git log > /dev/fd/3",
		"git log >&2 2>&-",
		"git log 3>&1 1>&2 2>&3",
		"t=$(mktemp) && git diff > $t",
		"t=$(mktemp -d); git diff > \"$t/x\" && cat \"$t/x\"",
		"t=`mktemp -t x.XXX`; git diff > \"$t\"",
		"git diff > \"$(mktemp /tmp/x.XXX)\"",
		"o=/tmp/$USER.patch; git diff > \"$o\"",
		"cd /tmp && git -C \"$d\" log > x",
		"git log | head > x",
		"git diff | tee x",
		"{ git log | head; } > x",
		"{ echo \"$(git log)\"; } > x",
		"echo \"$(git rev-parse HEAD)\" > version.txt",
		"{ git diff --quiet || echo dirty; } >/dev/null",
		"make > build.log 2>&1",
		"cat <<EOF > notes\n$(git log -1)\nEOF",
		"while read -r l; do echo \"$l\"; done < <(git log) > x",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
	check("git diff > fix.patch", true, "'fix.patch'");
}

Test(guard_shell, inside_output_goes_anywhere_but_into_git)
{
	struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	struct ews_guard_verdict verdict;

	rules.policy = EWS_GUARD_INSIDE;
	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, "git diff > x"), 0);
	cr_expect_not(verdict.is_blocked);
	ews_guard_verdict_release(&verdict);
	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, "git diff > .git/x"), 0);
	cr_expect(verdict.is_blocked);
	ews_guard_verdict_release(&verdict);
}

Test(guard_shell, the_verdict_is_the_worst_one)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	struct ews_guard_verdict verdict;

	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, "git status; git commit; git reset --hard; git log $x"),
		     0);
	cr_expect_eq(verdict.operation, EWS_GUARD_DESTRUCTIVE);
	cr_expect_str_eq(verdict.subcommand, "reset");
	ews_guard_verdict_release(&verdict);
	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, "ls; git log; ls"), 0);
	cr_expect_eq(verdict.operation, EWS_GUARD_READ);
	cr_expect_str_eq(verdict.subcommand, "log");
	ews_guard_verdict_release(&verdict);
}

Test(guard_shell, an_argv_with_a_text_is_looked_into)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	char *commit[] = { (char *)"sh", (char *)"-c", (char *)"git status; git commit", NULL };
	char *status[] = { (char *)"env", (char *)"bash", (char *)"-lc", (char *)"git status", NULL };
	struct ews_guard_verdict verdict;

	cr_assert_eq(ews_guard_judge(&verdict, &rules, commit), 0);
	cr_expect(verdict.is_blocked);
	cr_expect_str_eq(verdict.subcommand, "commit");
	ews_guard_verdict_release(&verdict);
	cr_assert_eq(ews_guard_judge(&verdict, &rules, status), 0);
	cr_expect_not(verdict.is_blocked);
	ews_guard_verdict_release(&verdict);
}

Test(guard_shell, texts_in_texts_have_an_end)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	struct ews_guard_verdict verdict;
	char text[1100] = "";

	for (size_t i = 0; i < 200; i++)
		strcat(text, "eval ");
	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, text), 0);
	cr_expect(verdict.is_blocked);
	ews_guard_verdict_release(&verdict);
}

Test(guard_shell, random_texts_get_a_verdict)
{
	static const char *const tokens[] = {
		"git ",
		"log ",
		"commit ",
		"$x",
		"\"$x\"",
		"\"$@\"",
		" ",
		"; ",
		"\n",
		"x=a",
		"x=$(git log) ",
		"| ",
		"&& ",
		"sh ",
		"-c ",
		"'",
		"\"",
		"eval ",
		"$(",
		")",
		"for x in a ",
		"do ",
		"done ",
		"f() { ",
		"}",
		"> ",
		".git/x ",
		"<<E ",
		"\nE\n",
		"xargs ",
		"-I{} ",
		"{} ",
		"env ",
		"-- ",
		"export ",
		"GIT_DIR=x ",
		"trap ",
		"alias ",
		"cd ",
		"*.c ",
		"~/ ",
		"command ",
		"find . -exec ",
		"\\; ",
		"[[ ",
		"]] ",
		"-n ",
		"--x=",
		"`",
		"PATH=$PATH:/x ",
	};
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	uint64_t state = 11;
	size_t denied = 0;

	for (size_t i = 0; i < 5000; i++) {
		EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		for (size_t n = 1 + i % 25; n--;) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			ews_buf_adds(&text, tokens[(state >> 33) % (sizeof(tokens) / sizeof(*tokens))]);
		}
		cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, text.ptr), 0);
		cr_assert(!verdict.is_blocked || (verdict.reason && !strchr(verdict.reason, '\n')), "%s", text.ptr);
		denied += verdict.is_blocked;
	}
	cr_assert(denied > 500 && denied < 5000, "%zu", denied);
}
