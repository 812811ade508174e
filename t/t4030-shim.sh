#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='the shim: git ews under the name of git (P6, P9)

What reads gives the answer that git gives, byte for byte, in a repository where whatever git could start is planted (and
says so when it is started), and leaves the repository as it is. All else is stopped before anything happens.'

. "$(dirname "$0")/test-lib.sh"

. "$EWS_SRC/t/lib-trips.sh"

real=$(command -v git)
shim=$PWD/bin/git

# as_is <dir>: all that is there, times too
as_is() {
	"$EWS_SRC/t/lister" "$1"
}

# untouched: p is as it was, and nothing ran
untouched() {
	as_is p >p.after && test_cmp p.before p.after && { test ! -s ran || { sort -u ran >&2 && return 1; }; }
}

# answers <file>: each line of it, in p by the shim, says what git says of plain
answers() {
	bad=
	while read -r line; do
		eval "set -- $line"
		wanted=0 got=0
		(cd plain && "$real" "$@") >want 2>want.err </dev/null || wanted=$?
		(cd p && git "$@") >got 2>got.err </dev/null || got=$?
		test "$wanted" = "$got" && cmp -s want got && continue
		# under a name that stays when the test has gone on
		bad=t && { echo "git $line: $got, not $wanted" && cat got.err && diff want got; } | tee -a answers.bad
	done <"$1"
	test -z "$bad"
}

# stopped <argument>...: in p, with status 126, a sentence, and nothing else
stopped() {
	(cd p && test_expect_code 126 git "$@") >out 2>err </dev/null && test_must_be_empty out && test "$(wc -l <err)" -eq 1 &&
		test_grep "^git ews: blocked: git [a-z-]*.* (.*)" err
}

test_expect_success 'setup' '
	mkdir trips bin && ln -s "$EWS_BIN/git-ews" bin/git && make_config && make_world p &&
	(cd p && echo stashed >>run.sh && git stash -q && git notes add -m note && git tag -am annotated v1 HEAD~1) &&
	cp -a p plain && dirty_world plain && plant_world p && dirty_world p && touch -d 2001-01-01 plain/nested/same p/nested/same &&
	# and one whose filters have names that only the nested repository knows
	make_trip "${trips:?}/inner.clean" && git config -f p/nested/.git/config filter.inner.clean "\"${trips:?}/inner.clean\"" &&
	echo "* filter=inner" >p/nested/.git/info/attributes && as_is p >p.before && : >ran
'

test_expect_success 'git itself trips' '
	cp -a p tripped && git -c filter.proc.process= -C tripped status >out 2>&1 &&
	for trip in core.fsmonitor filter.trip.clean inner.clean nested.fsmonitor; do test_grep "trips/.*$trip" ran || return 1; done && : >ran && rm -rf tripped
'

PATH=${PWD:?}/bin:$PATH

cat >reading <<\EOF
status
status --porcelain=v2 --branch
status -s --ignored
diff
diff HEAD
diff --cached
diff --stat HEAD~1
diff HEAD~2 HEAD -- a.txt src
diff --name-only
diff --submodule=log HEAD~1
diff-index -p HEAD
diff-tree -p HEAD
log --oneline
log -p -3
log --stat -- a.txt
log -1 pgp
log -1 x509
log -1 ssh
show
show pgp
show HEAD:a.txt
blame -s a.txt
blame HEAD~1 -- src/main.c
grep -n dirty
grep -c main HEAD
stash list
stash show -p
rev-parse HEAD main~1
rev-parse --abbrev-ref HEAD
rev-list --count --all
ls-files
ls-files -m
ls-files -s --others
ls-tree -r HEAD
cat-file -p HEAD
cat-file -t v1
for-each-ref
show-ref
branch -a
branch --show-current
tag -l
tag -n
describe --tags --dirty
describe --always
merge-base main other
name-rev HEAD
reflog
shortlog -sn HEAD
notes show
submodule status
check-ignore -v a.txt
check-attr -a a.ext
hash-object --no-filters a.txt a.proc
format-patch -1 --stdout
apply --stat --check ../p.patch
add -n a.txt
-C src status
-C src log -1 --format=%s -- .
-C nested log --oneline
-C nested diff
-C nested status
-C sub log --oneline
-C sub status
-C sub diff
-c color.ui=always log -1 --oneline
-P log -1 --oneline
--no-pager diff
diff --no-index a.txt a.ext
rev-parse --verify nosuch
-C nosuch status
EOF

test_expect_success 'P6, P9: what reads gives the answers of git, runs nothing and leaves all as it is' '
	"$real" -C plain diff-tree -p HEAD~1 HEAD -- src >p.patch &&
	answers reading && untouched
'

test_expect_success 'P9: nor on a terminal' '
	for line in status diff "log -1" branch "config --list" "grep dirty"; do
		terminal "cd p && git $line" && test -s terminal.out || return 1
	done && untouched
'

test_expect_success 'P9: files that were only touched' '
	cp -a p touched && cp -a plain touched.plain && touch -h touched/docs/* touched/a.* touched.plain/docs/* touched.plain/a.* &&
	as_is touched >touched.before && for line in diff "diff --stat" status "describe --tags --dirty" "diff --quiet -- docs"; do
		wanted=0 got=0
		"$real" -C touched.plain $line >want || wanted=$?
		git -C touched $line >got || got=$?
		test_cmp want got && test $wanted = $got || return 1
	done && as_is touched >touched.after && test_cmp touched.before touched.after && test_must_be_empty ran
'

test_expect_success 'P6, P9: a repository whose path holds ends of lines' '
	odd="odd
dir
" && mkdir "${odd:?}" && (cd "$odd" && "$real" init -q --template= inner && cd inner && echo a >a && "$real" add a && "$real" -c user.name=a -c user.email=a@b commit -qm one && echo b >>a && "$real" config core.fsmonitor "${trips:?}/inner.clean" &&
		git status -s >../../out && git describe --always --dirty >>../../out && cd .git && test_expect_code 128 git status 2>../../../err) &&
	test_grep "^ M a" out && test_grep "dirty" out && test_grep "work tree" err && test_must_be_empty ran && rm -rf "${odd:?}"
'

test_expect_success 'P9: where no temporary file can be made what reads reads all the same' '
	as_is touched >touched.before && for line in diff "diff --stat" status "describe --tags --dirty"; do
		"$real" -C touched.plain $line >want && TMPDIR=${PWD:?}/nowhere git -C touched $line >got && test_cmp want got && EWS_GUARD_TMPDIR=/proc TMPDIR=/proc git -C touched $line >got && test_cmp want got || return 1
	done && as_is touched >touched.after && test_cmp touched.before touched.after && test_must_be_empty ran &&
	mkdir own && EWS_GUARD_TMPDIR=${PWD:?}/own TMPDIR=${PWD:?}/nowhere git -C touched diff --stat >got && ls own >got && test_grep git-ews-index got &&
	test_expect_code 126 git -C touched commit -m x
'

test_expect_success STRACE 'P9: beside an index in memory nothing can be made, whoever the user is' '
	for line in "0 describe --always --dirty" "128 add -n a.txt"; do
		test_expect_code ${line%% *} test_strace log -e trace=openat,rename -- env TMPDIR=/proc git -C touched ${line#* } >out 2>&1 &&
		test_grep "memfd:.*[.]lock.*O_CREAT.*ENOENT" log && test_grep ! "rename(.*memfd:" log || return 1
	done
'

# lay_trap <directory>: where the copies of the indices of lent and empty would be: an index that names nested, and a lock
lay_trap() {
	for repo in lent empty; do
		# shellcheck disable=SC2046,SC2183 # two words
		name=git-ews-index-$(printf "%x-%x" $(stat -c "%d %i" "${repo:?}/.git")) && cp p/.git/index "${1:?}/$name" && : >"${1:?}/$name.lock" || return 1
	done
}

test_expect_success USERS 'P6, P9: what another one put where the copy of an index would be is not read, nor in the way' '
	cp -a p lent && cp -a plain lent.plain && cp -a p empty && cp -a plain empty.plain && rm empty/.git/index empty.plain/.git/index && test_give_user lent empty && chmod 666 ran &&
	mkdir shared shared/git-ews-index.x shared/git-ews-index.y && chmod 700 shared/git-ews-index.x && chmod 777 shared/git-ews-index.y && chmod 1777 shared && ln -s git-ews-index.y shared/git-ews-index.z &&
	for dir in shared shared/git-ews-index.y; do lay_trap $dir || return 1; done && "$EWS_SRC/t/lister" -M . shared >shared.before &&
	for line in "empty status" "empty diff" "empty add -n a.txt" "lent status" "lent add -n a.txt" "lent describe --always --dirty"; do
		"$real" -C ${line%% *}.plain ${line#* } >want 2>&1 && test_as_user env TMPDIR="${PWD:?}/shared" git -C $line >got 2>&1 && test_cmp want got && test_must_be_empty ran || return 1
	done && find shared -maxdepth 1 -user 65534 >made && test_line_count = 1 made && ours=$(cat made) && test "$(stat -c %a "$ours")" = 700 && ls "$ours" >got && test_grep "^git-ews-index-" got &&
	rm -r "${ours:?}" && "$EWS_SRC/t/lister" -M . shared >shared.after && test_cmp shared.before shared.after &&
	"$real" -C empty.plain status >want && for place in /proc "${PWD:?}/nowhere"; do test_as_user env TMPDIR="$place" git -C empty status >got && test_cmp want got || return 1; done && test_must_be_empty ran
'

test_expect_success 'P9: what settings say is said without ours, and what reads the index for that starts no monitor' '
	for line in "config -l" "config core.hooksPath" "config --get log.diffMerges" "config --show-origin --list" "rev-parse --git-path hooks"; do
		wanted=0 got=0
		"$real" -C p $line >want || wanted=$?
		git -C p $line >got || got=$?
		test_cmp want got && test $wanted = $got || return 1
	done && git -C p var -l >got && test_grep ! "core.hookspath=/dev/null" got && test_must_be_empty ran &&
	for line in "rev-parse :a.txt" "config --blob=:a.txt -l" "config --blob :a.txt -l"; do git -C p $line >out 2>&1 || :; done && test_must_be_empty ran
'

test_expect_success 'P9: a split index, and one that is to be split' '
	"$real" config -f touched/.git/config core.splitIndex true && for how in no-split-index split-index; do
		"$real" -c core.splitIndex= -c core.fsmonitor=false -c core.hooksPath=/dev/null -C touched update-index --$how && touch -h touched/docs/* && "$EWS_SRC/t/lister" -m touched >touched.before && : >ran &&
		git -C touched diff >out && git -C touched describe --tags --dirty && git -C touched status && "$EWS_SRC/t/lister" -m touched >touched.after && test_cmp touched.before touched.after &&
		test_must_be_empty ran || return 1
	done && ls touched/.git/sharedindex.*
'

test_expect_success 'P9: an object that a remote has promised is not asked for' '
	tree=$(printf "100644 blob %s\tgone\n" $(echo gone | "$real" hash-object --stdin) | "$real" -C touched mktree --missing) &&
	for key in "core.repositoryFormatVersion 1" "extensions.partialClone vcs" "remote.vcs.promisor true"; do "$real" -C touched config $key || return 1; done &&
	: >ran && before=$PATH && PATH=$trips:$PATH && ! "$real" -C touched cat-file -p $tree:gone && test_grep git-remote-trip ran && : >ran &&
	for line in "cat-file -p $tree:gone" "show $tree:gone" "diff $tree HEAD" "log -1"; do git -C touched $line >out 2>err || :; done && PATH=$before && test_must_be_empty ran
'

cat >writing <<\EOF
commit -am x
commit --amend --no-edit
add a.txt
add -A
rm a.txt
mv a.txt b.txt
reset --hard
checkout .
checkout -b new
restore a.txt
switch other
stash
stash drop
stash pop
clean -fd
merge other
rebase other
cherry-pick other
revert HEAD
branch new
branch -D other
tag new
tag -d v1
push
push up HEAD
fetch
fetch ext
pull
clone . ../cloned
init
config user.name x
config --global user.name x
remote add x y
remote update
update-ref refs/heads/x HEAD
update-index --refresh
symbolic-ref HEAD refs/heads/other
gc
prune
reflog expire --all
worktree add ../other other
submodule update
submodule foreach git status
bisect start
notes add -f -m x
replace HEAD HEAD~1
am p.patch
apply ../p.patch
hash-object -w a.txt
trip
co
lfs status
difftool HEAD~1
mergetool
log --output=made
diff --output made
diff --ext-diff
log -p --textconv
show --show-signature
log --format=%G?
grep -Ocat dirty
grep --open-files-in-pager=cat dirty
archive -o made HEAD
archive --format=trip HEAD
bundle create made HEAD
format-patch -1
ls-remote .
ls-remote --upload-pack=./trip .
cat-file --filters HEAD:a.txt
help log
log --help
-p log
-c core.fsmonitor=./trip status
-c alias.x=!true x
--exec-path=. log
--git-dir=../plain/.git log
--work-tree=.. status
interpret-trailers --trailer a=1
ews start
ews end
ews undo
ews revert
-C nested commit -am x
-C sub checkout .
EOF

test_expect_success 'P6: all else is stopped' '
	as_is p >p.before && bad= &&
	while read -r line; do
		stopped $line || { echo "git $line was not stopped" && cat err && bad=t; }
	done <writing && test -z "$bad" && : >ran && untouched
'

test_expect_success 'P6: the sentence, and what will do instead' '
	test_expect_code 126 git -C p commit -m x 2>err && test_grep "^git ews: blocked: git commit (Commits would permanently alter repository history); use: .git ews diff. shows" err &&
	test_expect_code 126 git -C p "$(printf "a\nb\033[1m")" 2>err && test_line_count = 1 err && test_grep ! "$(printf "\033")" err &&
	test_expect_code 126 git -C p stash drop 2>err && test_grep "blocked: git stash drop (" err && untouched
'

test_expect_success 'P6: it is logged, where there is a log' '
	: >log && (cd p && EWS_LOG_FD=9 && export EWS_LOG_FD && test_expect_code 126 git commit -m "$(printf "a\nb\377")" 9>>../log && git status 9>>../log >../out && test_expect_code 126 git push 9>>../log) 2>err &&
	test_line_count = 2 log && sed 1q log >first && sed 1d log >second && test_json first .verb guard && test_json first .schema ews.log/1 && json first .timestamp && test_json first .subcommand commit &&
	test_json first .operation_type write && json first .reason && json first .suggestion && json first .message >out && test_grep "^blocked: git commit (" out && json first .command >out && test_grep "git commit -m" out && test_json second .subcommand push
'

test_expect_success 'what has the number of the log and is none is left alone' '
	echo mine >mine && for fd in 1 9 99 x "" -1; do
		(EWS_LOG_FD=$fd && export EWS_LOG_FD && test_expect_code 126 git -C p commit 9<>mine >out 2>err) || return 1
		test_must_be_empty out && test "$(cat mine)" = mine || return 1
	done && test_expect_code 126 env EWS_LOG_FD=9 git -C p commit 9<mine 2>err && test "$(cat mine)" = mine
'

test_expect_success 'P6: whoever looks for git in PATH finds it' '
	printf "all:\n\tgit commit -m x\n" >Makefile.x && : >log && EWS_LOG_FD=9 && export EWS_LOG_FD &&
	{ (cd p && test_must_fail sh -c "git commit -m x; exit \$?" && test_must_fail make -s -f ../Makefile.x && echo commit | test_must_fail xargs git && test_must_fail env git commit && find a.txt -exec git add {} \; &&
	test_must_fail sh -c "true && exec git push" && test "$(git rev-parse --show-toplevel)" = "$(pwd -P)" && sh -c "git status -s" >../out && echo HEAD | xargs git rev-parse >>../out) 9>>log 2>err; } &&
	unset EWS_LOG_FD && test_line_count = 6 log && test_grep "a.txt" out && test "$(git -C p rev-parse HEAD)" = "$(tail -n 1 out)" && untouched
'

test_expect_success 'P9: the environment is scrubbed' '
	for name in GIT_EXTERNAL_DIFF GIT_PAGER PAGER GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS GIT_EDITOR EDITOR VISUAL MANPAGER GIT_PROXY_COMMAND LESSOPEN BASH_ENV ENV; do make_trip "${trips:?}/env.$name" || return 1; done &&
	for line in diff "log -1 -p" status "show --stat" "blame a.txt"; do
		(cd p && for name in GIT_EXTERNAL_DIFF GIT_PAGER PAGER GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS GIT_EDITOR EDITOR VISUAL MANPAGER GIT_PROXY_COMMAND LESSOPEN BASH_ENV ENV; do eval "$name=\"${trips:?}/env.$name\" && export $name" || exit 1; done &&
		GIT_TRACE=${here:?}/trace GIT_TRACE2_EVENT=${here:?}/trace GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.external GIT_CONFIG_VALUE_0=${trips:?}/env.GIT_PAGER GIT_EXEC_PATH=${trips:?} \
			GIT_CONFIG_PARAMETERS="'\''core.fsmonitor'\''='\''${trips:?}/env.PAGER'\''" git $line) >out || return 1
	done && test_path_is_missing trace && untouched
'

test_expect_success 'P6: a variable that leads git elsewhere is named, not obeyed and not dropped' '
	for name in GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY; do
		test_expect_code 126 env $name="${here:?}/plain/.git" git -C p status >out 2>err && test_must_be_empty out && test_grep "$name" err || return 1
	done
'

test_expect_success 'a filter of the user stays, whatever the repository says of it' '
	for name in mine theirs; do make_trip "${trips:?}/$name.clean" || return 1; done && "$real" init -q filtered && (cd filtered && echo "*.x filter=x" >.gitattributes && echo 1 >a.x && "$real" add . && "$real" commit -qm 1 &&
	"$real" config --global filter.x.clean "\"${trips:?}/mine.clean\"" && "$real" config filter.x.clean "\"${trips:?}/theirs.clean\"" && "$real" config filter.x.required true && echo 2 >a.x && : >../ran && git diff >../out) &&
	test_grep "^+2" out && test_grep mine.clean ran && test_grep ! theirs.clean ran && : >ran && "$real" config --global --unset filter.x.clean && git -C filtered diff >out && test_grep "^+2" out && test_must_be_empty ran
'

test_expect_success 'git ews is this program' '
	make_trip "${trips:?}/git-ews" && (PATH=${trips:?}:$PATH && cd p && git ews version && git -C src -c color.ui=always --no-pager ews status --json && git ews list) >out 2>err && test_grep "^git-ews version" out && test_grep ews.status out &&
	test_must_be_empty ran && test_expect_code 126 git ews start 2>err
'

test_expect_success 'which git: the first in an absolute directory of PATH that is none of us' '
	mkdir -p rel two && make_trip rel/git && ln -s "$shim" two/git && cp "$EWS_BIN/git-ews" two/git-ews && ln -s git-ews rel/git-ews &&
	PATH=rel:.:${here:?}/two:$PATH "$shim" -C p rev-parse HEAD >out && test_must_be_empty ran && test "$(cat out)" = "$("$real" -C p rev-parse HEAD)" &&
	test_expect_code 127 env "PATH=${shim%/*}:${here:?}/two" "$shim" status 2>err && test_grep "^error: cannot run .git.: no such program" err &&
	(PATH=${shim%/*} && EWS_GIT=$real && export EWS_GIT && git version) && (EWS_GIT=$shim && export EWS_GIT && git version) && (EWS_GIT=git && export EWS_GIT && git version)
'

test_expect_success 'off: git is git' '
	cp -a plain off && (cd off && EWS_GUARD_LEVEL=off && export EWS_GUARD_LEVEL && git commit -qam off && git log -1 --format=%s) >out && test "$(cat out)" = off &&
	(cd off && EWS_GUARD_RULES=off && export EWS_GUARD_RULES && git tag off)
'

test_expect_success 'settings: what they open is open, what they close closed' '
	(cd off && EWS_GUARD_RULES="no-diff commit" && export EWS_GUARD_RULES && git commit -q --allow-empty -m allowed && test_expect_code 126 git diff && git status && test_expect_code 126 git push && test_expect_code 126 git reset) 2>err >out &&
	test "$("$real" -C off log -1 --format=%s)" = allowed && (cd off && EWS_GUARD_RULES=no-status && export EWS_GUARD_RULES && test_expect_code 126 git status) 2>err
'

test_expect_success 'inside: git as it is, for what stays inside' '
	EWS_GUARD_POLICY=inside && export EWS_GUARD_POLICY && make_hooks off/.git/hooks && : >ran && echo inside >>off/clean && (cd off && git add clean && git commit -qm inside && git branch mine && git stash list && git reset -q --hard) &&
	test "$("$real" -C off log -1 --format=%s)" = inside && test_grep hooks/pre-commit ran && : >ran && for line in push "fetch ../plain" "clone . x" "--git-dir=../plain/.git log" "config --global x.y z" "ews end"; do stopped $line || return 1; done &&
	test_expect_code 126 env GIT_DIR="${here:?}/p/.git" git -C off log 2>err && unset EWS_GUARD_POLICY && : >ran && untouched
'

test_expect_success 'P6, P9: in run, git is the shim' '
	: >ran && for method in worktree snapshot in-place; do
		test_expect_code 126 git-ews -C p run --json --end --method $method -- sh -c "git status >&2; git diff >&2; git commit -m x" >out 2>err && test_grep "a.txt" err && test_json_count out .blocked 1 && json out ".blocked[0]" >line &&
		test_grep "git commit" line && test_json out .status 126 && test_grep "^git ews: blocked: git commit" err && test_must_be_empty ran || return 1
	done && git-ews -C p run --end --env "PATH=$real:/usr/bin:/bin" -- sh -c "command -v git" >out 2>err && test_grep "/bin/git$" out && test_grep ! "^/usr" out &&
	git-ews -C plain run --end --guard=off -- sh -c "command -v git" >out 2>err && test_grep ! sessions out &&
	test_expect_code 126 git-ews -C plain run --end --method snapshot --policy inside -- sh -c "git commit -qam x && git log -1 --format=%s && git push -q" >out 2>err && test_grep "^x$" out && test_grep "blocked: git push" err
'

test_expect_success 'P6: in run, the settings of the project hold' '
	printf "qe:\n  git_guard:\n    allow_status: no\n" >plain/superqode.yaml && test_expect_code 126 git-ews -C plain run --end -- git status 2>err && test_grep "allow_status" err &&
	rm plain/superqode.yaml && git-ews -C plain run --end -- git status >out 2>err
'

test_done
