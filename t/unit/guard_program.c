/*
 * The guard over programs that may run git where it can't be seen: what names git in them is denied, what does not
 * passes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_program.h"

#include <criterion/criterion.h>

#include "work/guard.h"

static void check(const char *text, bool is_blocked)
{
	static const struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;

	cr_assert_eq(ews_guard_judge_shell(&verdict, &rules, text), 0);
	cr_expect_eq(verdict.is_blocked, is_blocked, "%s: %s", text, verdict.reason ? verdict.reason : "is allowed");
}

#define CHECK_ALL(texts, is_blocked)                                  \
	for (size_t i = 0; i < sizeof(texts) / sizeof(*(texts)); i++) \
	check((texts)[i], is_blocked)

Test(guard_program, a_text_for_an_interpreter_that_names_git_is_denied)
{
	static const char *const texts[] = {
		"python3 -c \"import subprocess; subprocess.run(['git','commit'])\"",
		"python -c 'import os; os.system(\"git push\")'",
		"python3.11 -Wignore -c 'import git'",
		"perl -e 'system(\"git reset --hard\")'",
		"perl -lane 'print `git log`'",
		"perl -0777 -ne 'system \"git commit\"' f",
		"ruby -e '`git commit`'",
		"node -e \"require('child_process').execSync('git commit')\"",
		"node --eval=\"git commit\"",
		"node -pe 'x(\"git commit\")'",
		"lua -e \"os.execute('git commit')\"",
		"php -r 'exec(\"git commit\");'",
		"awk 'BEGIN{system(\"git commit\")}'",
		"awk 'BEGIN{\"git log\" | getline x}'",
		"awk '{print | \"git commit -F -\"}'",
		"awk -F: -v x=1 '{system(\"git add \" $1)}' f",
		"sed '1e git commit' f",
		"sed -n 's/x/git commit/e' f",
		"sed '1egit push' f",
		"sed -n '1w.git/x' f",
		"sed 's/a/b/w.git/y' f",
		"bun -e 'x(\"git push\")'",
		"bun --eval='git push'",
		"sed -e 's/a/b/' -e 'e git push' f",
		"sed 's/.*/git add &/e'",
		"python3 - <<'E'\nimport os; os.system('git commit')\nE",
		"python3 <<E\nimport os; os.system('git commit')\nE",
		"env python3 -c 'git'",
		"python3 -c \"import shutil; shutil.rmtree('.git')\"",
		"find . -exec perl -e 'system(\"git commit\")' {} +",
	};

	CHECK_ALL(texts, true);
}

Test(guard_program, other_texts_pass)
{
	static const char *const texts[] = {
		"sed 's/git/svn/' f",
		"sed -e 's/git/e/g' f",
		"sed 's/digit/letter/w out' f",
		"sed -n '/legit/w.gitignore' f",
		"sed 's/git/e/;s/egit/w/' f",
		"bun -e 'console.log(1)'",
		"bun run git",
		"bun test git",
		"sed -n '/git/p' f",
		"sed -i 's|git clone|git pull|' README.md",
		"sed '/git/d;s/e/x/' f",
		"sed 's/a/b/;/git/s/e/f/gi' f",
		"sed -E 's#https://github.com/x.git#y#' f",
		"sed -n '/^commit/{n;p}' f",
		"sed \"s/^git //;s/ .*//\" f",
		"awk '/git/{print $1}' f",
		"awk '/git|svn/{print}' f",
		"awk -F'|' '{print $2}' f",
		"awk '$1 == \"git\" || $2 == \"git\"' f",
		"awk '{print $1 \"|\" $2}' f",
		"git log | awk '{c[$1]++} END{for(i in c) print i, c[i]}'",
		"python3 -c \"import os; print([d for d in os.listdir('.') if d != '.git'])\"",
		"python3 -c \"print('digit')\"",
		"python3 -c \"print(open('.gitignore').read())\"",
		"python3 setup.py git",
		"python3 -m pytest git",
		"python3 script.py -c git",
		"perl -ne 'print unless /x/' git",
		"node server.js git",
		"node -e \"console.log('github.com')\"",
		"ruby -v",
		"perl -pi -e 's/foo/bar/' .gitignore",
		"pip install git+https://github.com/x/y.git",
		"npm install git",
		"python3 -c \"$code\"",
		"python3 - <<'E'\nprint(1)\nE",
		"python3 script.py <<E\ngit\nE",
	};

	CHECK_ALL(texts, false);
}

Test(guard_program, front_ends_are_denied_but_where_they_only_look)
{
	static const char *const texts[] = {
		"gitk",
		"gitk --all",
		"tig",
		"git-gui",
		"git gui",
		"scalar clone x",
		"lazygit",
		"gh pr checkout 5",
		"gh pr create",
		"gh repo clone x/y",
		"gh pr merge 3",
		"glab mr merge 3",
		"glab mr checkout 3",
	};
	static const char *const harmless[] = {
		"gh pr view 5", "gh pr list", "gh --version", "gh issue list", "glab mr view 3", "glab ci status",
	};

	CHECK_ALL(texts, true);
	CHECK_ALL(harmless, false);
}
