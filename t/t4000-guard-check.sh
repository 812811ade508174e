#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='guard check, guard list, and what its words are worth (P6, P9)

The verdicts themselves are in t/unit/guard.c. Here the forms that the guard takes for reading are run, with the options
that it wants them to be run with, in a repository whose config, attributes and hooks name a program wherever they can:
nothing is started, and nothing below the repository changes, not for a moment.'

. "$(dirname "$0")/test-lib.sh"

trapped=$PWD/trapped

# plant: settings, in the repository here, that have git start the trap
plant() {
	trap="$PWD/../trap"
	test -x "$trap" || trap="$PWD/../../trap"
	while read -r key arguments; do
		git config "$key" "\"$trap\" $arguments" || return 1
	done <<-\EOF
	core.fsmonitor fsmonitor
	core.pager pager
	core.editor editor
	core.sshCommand ssh
	core.askPass askpass
	core.alternateRefsCommand alternates
	pager.log pager
	pager.branch pager
	diff.external external
	diff.trap.command command
	diff.trap.textconv textconv
	diff.other.textconv textconv
	filter.trap.clean clean
	filter.trap.smudge smudge
	filter.a=b.clean clean
	merge.trap.driver driver
	trailer.acked.command trailer
	tar.tar.gz.command targz
	remote.origin.uploadpack uploadpack
	man.trap.cmd man
	browser.trap.cmd browser
	interactive.diffFilter filter
	difftool.trap.cmd difftool
	EOF
	while read -r key value; do
		git config "$key" "$value" || return 1
	done <<-EOF
	gpg.program $trap
	gpg.ssh.program $trap
	gpg.x509.program $trap
	credential.helper $trap
	alias.zz !"$trap"
	man.viewer trap
	web.browser trap
	diff.tool trap
	help.autocorrect immediate
	log.showSignature true
	log.diffMerges remerge
	format.pretty format:%h %G? %s
	pretty.evil %G?
	diff.submodule diff
	status.submoduleSummary true
	stash.showPatch true
	core.untrackedCache true
	EOF
}

# state: all that stands in the project, so that any change shows, and one that was taken back, too
state() {
	find project -printf '%y %m %s %T@ %C@ %i %p\n' | sort
}

# guarded <argument>...: a git command, by the shim
guarded() {
	(cd project && timeout 60 ../bin/git "$@" </dev/null)
}

# forms <file> [each]: run each line of it; name those that were denied, failed or sprang a trap, and, one by
# one, those that changed something
forms() {
	ews_bad=
	state >state.before
	while read -r line; do
		set -f && code=0 && rm -f trapped
		# shellcheck disable=SC2086 # many words
		guarded $line >out 2>err || code=$?
		set +f
		case $code in 0 | 1 | 129) ;; *) ews_bad=1 && echo "git $line: $code, $(cat err)" ;; esac
		test ! -e trapped || { ews_bad=1 && echo "git $line: started $(cat trapped)"; }
		test "$2" = each || continue
		state >state.after
		cmp -s state.before state.after || { ews_bad=1 && echo "git $line: changed" && diff state.before state.after; }
		mv state.after state.before
	done <"$1"
	test "$2" = each || {
		state >state.after
		cmp -s state.before state.after || forms "$1" each
	} || ews_bad=1
	test -z "$ews_bad"
}

test_expect_success 'setup: a repository full of traps' '
	printf "#!/bin/sh\nexec >>\"%s\"\necho \"\$0 \$*\"\n" "$trapped" >trap && chmod +x trap &&
	git init -q -b main sub0 && (cd sub0 && echo s >s && git add s && git commit -qm s && echo t >s && git commit -qam t) &&
	git init -q -b main project && (cd project &&
	mkdir d && printf "a\nb\nc\n" >f && echo x >d/g && echo h >h && echo "*.o" >.gitignore &&
	printf "* diff=trap merge=trap filter=trap\nh filter=a=b diff=other\n" >.gitattributes &&
	git add . && git commit -qm one && git tag -am v1 v1 &&
	git -c protocol.file.allow=always submodule --quiet add "$PWD/../sub0" sub && git commit -qm sub &&
	(cd sub && git checkout -q HEAD~1) &&
	git checkout -qb feature && echo feature >>f && git commit -qam feature &&
	git checkout -q main && sed -i s/b/B/ f && git commit -qam two && git merge -q feature -m merge -s ours &&
	git notes add -m note && git notes add -m note HEAD~1 && echo stashed >>f && echo new >untracked && git stash -q -u &&
	git bisect start -q >/dev/null && git bisect bad >/dev/null &&
	git remote add origin ../nowhere.git && git format-patch -q -1 --stdout feature >../patch &&
	git cat-file commit HEAD | sed "/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----" >../signed &&
	git update-ref refs/heads/main "$(git hash-object -t commit -w ../signed)" &&
	git bundle create -q ../bundle --all && git gc -q && git commit-graph write && git multi-pack-index write &&
	echo staged >staged && git add staged && echo edit >>f && touch -d 2001-01-01 d/g h && echo junk >junk.o && echo new >untracked &&
	printf "subject\n\nbody\n\nAcked-by: x\n" >../message && plant && (cd sub && plant) &&
	for hook in post-index-change reference-transaction pre-commit pre-push post-checkout pre-auto-gc; do
		cp ../trap .git/hooks/$hook || return 1
	done) && mkdir bin && ln -s "$EWS_BIN/git-ews" bin/git && test ! -e trapped
'

test_expect_success 'the traps are set' '
	(cd project && git status && git diff && git log -1 && git blame f && git describe --dirty) >out 2>&1 &&
	for how in fsmonitor clean command textconv "trap --" post-index-change; do
		test_grep -e "$how" trapped || return 1
	done
'

cat >reading <<\EOF
status
status -s
status -vv
-c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.untrackedCache=false status
status --porcelain=v2 --branch
status --ignored -uall
status --short --untracked-files=no
diff
diff --cached
diff --stat HEAD~1
diff HEAD
diff --staged --name-only
diff main...feature
diff --word-diff HEAD -- f
diff --no-index f d/g
diff -p --submodule=log HEAD~1
diff --submodule HEAD~2 HEAD
diff -U1 HEAD~1 HEAD
diff-files
diff-files -p
diff-index HEAD
diff-index -p HEAD
diff-tree -p HEAD~1
diff-tree -r HEAD
log
log -p
log -m -p -3
log --cc -p
log -c -p main
log --oneline --graph --all
log --stat
log -S B
log -G B -p
log -L1,2:f
log --follow -p -- f
log -g
log --format=%H%d
log --pretty=evil -1
log --diff-merges=on -p -2
log -p --submodule=log
log --notes
log --decorate-refs=refs/heads/*
log --stdin -1
show
show HEAD~1
show main:f
show -m HEAD
show --first-parent HEAD
show v1
show --stat
whatchanged -2 -p
reflog
reflog show main
reflog --all
reflog -p -2
reflog exists refs/heads/main
shortlog -sn HEAD
shortlog HEAD
blame f
blame -C -C -w f
annotate f
blame h
rev-list HEAD
rev-list --all --count
rev-list --objects HEAD
rev-list --disk-usage HEAD
rev-list --use-bitmap-index --count HEAD
show-branch
show-branch -a
show-branch --reflog=2 main
cherry -v feature main
describe
describe --always --dirty
describe --tags --broken
describe --all
name-rev HEAD
name-rev --all
merge-base main feature
merge-base --fork-point main feature
merge-base --is-ancestor feature main
format-patch --stdout -1 main~1
format-patch --stdout --cover-letter -2 main~1
grep B
grep -n -i b
grep -e a --and -e b
grep --cached B
grep --untracked z
grep --no-index B
grep -3 B main
grep --recurse-submodules s
grep B main -- f
ls-files
ls-files -m
ls-files -d -o --exclude-standard
ls-files --stage --eol
ls-files -u
ls-files --recurse-submodules
ls-files --format=%(objectname)
ls-files -o -i --exclude-standard
ls-tree HEAD
ls-tree -r -l HEAD
cat-file -p HEAD
cat-file -t HEAD
cat-file -s HEAD:f
cat-file blob HEAD:f
cat-file --batch
cat-file --batch-check --batch-all-objects
cat-file -e HEAD
hash-object --stdin
hash-object --no-filters f
rev-parse HEAD
rev-parse --show-toplevel
rev-parse --abbrev-ref HEAD
rev-parse --git-dir
rev-parse --show-superproject-working-tree
rev-parse --all
rev-parse --git-path hooks
archive -l
check-attr -a f
check-attr diff -- f
check-ignore -v junk.o
check-ignore junk.o
count-objects -vH
fsck
fsck --full --strict
fsck --unreachable
fsck --connectivity-only
fast-export --all
fast-export --no-data HEAD
merge-file -p f h d/g
branch
branch -a
branch -vv
branch -r
branch --list f*
branch --contains HEAD
branch --no-contains HEAD main
branch --merged main
branch --show-current
branch --sort=-committerdate --format=%(refname)
branch --column
branch --points-at HEAD
tag
tag -l
tag -n
tag -n3 v1
tag --list v* --sort=-creatordate
tag --contains HEAD~3
tag --points-at HEAD
tag --format=%(contents:signature)
for-each-ref
for-each-ref --format=%(refname) --sort=-committerdate refs/heads
for-each-ref --contains HEAD~1
show-ref
show-ref --verify refs/heads/main
show-ref --heads -s
show-ref --exclude-existing
symbolic-ref HEAD
symbolic-ref --short HEAD
check-ref-format --branch main
check-ref-format refs/heads/x
replace
replace -l
notes
notes list
notes show main~3
notes get-ref
notes prune -n
add -n .
add -n -A
add --dry-run f untracked
mv -n h hh
clean -n
clean -ndx
clean --dry-run -d -f
apply --check -R ../patch
apply --stat ../patch
apply --numstat --summary ../patch
apply --check --cached ../patch
apply --check --index ../patch
stash list
stash list -p
stash show
stash show -p
stash show --stat stash@{0}
stash show -u
stash show --include-untracked -p
worktree list
worktree list --porcelain
worktree prune -n -v
bisect log
bisect terms
submodule
submodule status
submodule status --recursive
submodule summary
submodule summary HEAD~1
config -l
config --list --show-origin
config user.name
config --get core.pager
config --get-regexp ^diff
config --get-urlmatch http https://x
config --get-color color.x red
config --global -l
config list
remote
remote -v
remote show
remote show -n origin
remote get-url origin
remote get-url --all --push origin
ls-remote --get-url
ls-remote --get-url origin
bundle verify ../bundle
bundle list-heads ../bundle
patch-id
interpret-trailers --parse ../message
interpret-trailers --only-input ../message
prune -n
prune-packed -n
commit-graph verify
multi-pack-index verify
var GIT_EDITOR
rev-parse --sq-quote a
var -l
version
version --build-options
help
help -a
help -g
help -c
--version
--help
--exec-path
--html-path
--list-cmds=builtins
-P log -1
-C d log -1 -p
-C sub status
-C sub diff
-C sub log -p
-c color.ui=always diff
-c core.quotepath=off status
--no-optional-locks status
--literal-pathspecs ls-files f
--no-replace-objects log -1
commit -h
push -h
gc -h
submodule -h
bisect -h
merge-tree -h
log -h
stash -h
EOF

test_expect_success 'P9: what the guard takes for reading starts nothing and changes nothing' '
	forms reading
'

test_expect_success 'P6: every command that reads was tried, and every one that was tried is listed' '
	git ews guard list >list && cut -f 1 list | sed "s/^git //" | grep -v "^ews" | sort >listed &&
	sed "/^-/d; / -h$/d" reading | while read -r verb word rest; do
		grep -qx "$verb $word" listed && echo "$verb $word" || echo "$verb"
	done | sort -u >tried &&
	printf "%s\n" check-mailmap "config get" "reflog list" "sparse-checkout list" verify-pack >>tried &&
	sort -u tried >want && comm -3 want listed >odd && test_must_be_empty odd
'

test_expect_success 'P6: what it denies is not run' '
	state >state.before && rm -f trapped &&
	for line in "commit -am x" "branch x" "tag --sort=x y" "log --output=made" "stash list -- --output=made" "-p log" "zz" \
		"grep -Oless a" "log --show-signature" "ls-remote origin" "config a.b c" "add f" "merge-tree main feature"; do
		code=0 && guarded $line >out 2>err || code=$?
		test $code = 126 || { echo "git $line: $code" && return 1; }
	done && state >state.after && test_cmp state.before state.after && test ! -e trapped
'

test_expect_success 'P6: a dry run of git rm, which moves what submodules have, is not run' '
	git init -q holder && (cd holder && git init -q sub && (cd sub && echo s >s && git add s && git commit -qm s) &&
	printf "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n" >.gitmodules && git add . 2>/dev/null && git commit -qm one) &&
	cp -a holder copy && (cd copy && git rm -n sub) >out 2>&1 && test_path_is_file copy/sub/.git &&
	(cd holder && test_expect_code 126 ../bin/git rm -n sub && test_expect_code 126 ../bin/git rm --dry-run -r .) >out 2>&1 && test_path_is_dir holder/sub/.git
'

test_expect_success 'P6: what git refuses with usage is denied: each of these ends so' '
	for line in "config --get" "config --get a.b c d" "config -l x" "var" "var -l x" "var GIT_EDITOR -l" "cat-file -p" "cat-file HEAD" "merge-base HEAD" \
		"rev-list -1" "ls-tree" "diff --no-index f" "diff-index --cached" "check-attr -a" "count-objects x" "merge-file -p f h" "notes show a b" "-C" "-c"; do
		code=0 && (cd project && git $line >/dev/null 2>&1 </dev/null) || code=$?
		test $code = 129 || { echo "git $line: $code" && return 1; }
		test_must_fail git ews guard check -q -- git $line || { echo "git $line is allowed" && return 1; }
	done
'

test_expect_success 'check: text and status' '
	git ews guard check -- git log -1 >out && echo "allowed: git log (read)" >want && test_cmp want out &&
	git ews guard check -- make -j2 >out && test_grep "^allowed: make -j2 " out &&
	test_expect_code 1 git ews guard check -- git commit -m "a b" >out 2>err && test_must_be_empty err &&
	test_line_count = 2 out && test_grep "^blocked: git commit (Commits would permanently alter repository history)" out &&
	test_grep "^use: .git ews diff. shows your change" out &&
	test_expect_code 1 git ews guard check -q -- git commit >out && test_must_be_empty out &&
	test_expect_code 129 git ews guard check 2>err && test_grep "after .--." err
'

test_expect_success 'check: the reason is what the verb would do, not an option of it that nobody here knows' '
	while read -r args; do
		test_expect_code 1 git ews guard check -- git $args >out && test_grep "^blocked: .* (It would " out || { echo "$args" && return 1; }
	done <<-\EOF &&
	ews archive create --to x
	ews round start --agent x
	ews artifact add --type log x
	ews suggestions apply --check x
	worktree add -b x ../x
	stash push -m x
	EOF
	test_expect_code 1 git ews guard check -- git ews archive --to create >out && test_grep "is no known option of git ews archive" out
'

test_expect_success 'check: JSON, within a project and without' '
	git ews guard check --json -- git status -s >out && test_json out .schema ews.guard_check/1 && test_json out .command "git status -s" &&
	test_json out .subcommand status && test_json out .operation_type read && test_json out .is_blocked false &&
	test_json out .policy read-only && test_json out .reason null &&
	test_expect_code 1 git -C project ews guard check --json -- env git stash drop >out 2>err && test_must_be_empty err &&
	test_json out .subcommand "stash drop" && test_json out .operation_type destructive && test_json out .is_blocked true &&
	test_json out .reason && test_json out .suggestion &&
	test_expect_code 1 git ews guard check --json -- git zz >out && test_json out .operation_type unknown
'

test_expect_success 'check --shell: a text, and the worst of its commands' '
	git ews guard check --shell "cd src && git log -3 | head" >out && echo "allowed: git log (read)" >want && test_cmp want out &&
	test_expect_code 1 git ews guard check --json --shell "git log; git branch -D x && git push" >out &&
	test_json out .command "git log; git branch -D x && git push" && test_json out .subcommand branch && test_json out .operation_type write &&
	test_expect_code 1 git ews guard check --shell "git log \"" >out && test_grep "^blocked: .*can.t be read" out &&
	test_expect_code 129 git ews guard check --shell "git log" -- git log
'

test_expect_success 'P6: a text that is handed over as words, in one piece or parted, is no reading command' '
	test_expect_code 1 git ews guard check -- "git push" >out && test_grep "text for a shell" out && test_grep "^use: --shell" out &&
	test_expect_code 1 git ews guard check -- cd x "&&" git push >out && test_grep "^blocked: git push (" out && test_expect_code 1 git ews guard check -q -- git log "|" git commit -F - &&
	for words in "make |& git push" "! git push" "if true ; then git push ; fi" "{ git push ; }"; do
		test_expect_code 1 git ews guard check -- $words >out && test_grep "^blocked: git push (" out || return 1
	done && git ews guard check -q -- ! git diff --quiet && git ews guard check -q -- if true ";" then git log ";" fi &&
	git ews guard check -q -- cd x "&&" git status && git ews guard check -q -- "my tool" x
'

test_expect_success 'P6, P9: which git ours is, and which rules hold, is not for a command line to say' '
	for variable in EWS_GIT=/bin/false EWS_GUARD_LEVEL=off EWS_GUARD_RULES=off; do
		test_expect_code 1 git ews guard check -- env $variable git log >out && test_grep "would change what git does" out || return 1
	done && git ews guard check -q -- env EWS_SESSION=x git log
'

test_expect_success 'P6: inside, what git is told to run is judged, and what leaves the workspace is denied' '
	test_expect_code 1 git ews guard check --policy inside --shell "git rebase -x \"git push\" main" >out && test_grep "^blocked: git push (" out &&
	for line in "bisect run git push" "submodule foreach git push" "subtree push -P x up main" "config set --global a.b c" "maintenance start" "for-each-repo --config=a.b push"; do
		test_expect_code 1 git ews guard check -q --policy inside -- git $line || { echo "git $line" && return 1; }
	done && git ews guard check -q --policy inside --shell "git rebase -x make main; git bisect run ./test; git config set a.b c"
'

test_expect_success 'the policy is the one that was asked for, or that of the session' '
	git ews guard check --policy inside --json -- git commit >out && test_json out .policy inside && test_json out .operation_type write &&
	EWS_GUARD_POLICY=inside git ews guard check -q -- git commit &&
	test_must_fail env EWS_GUARD_POLICY=inside git ews guard check -q -- git push &&
	test_must_fail env EWS_GUARD_POLICY=inside git ews guard check -q --policy read-only -- git commit &&
	test_expect_code 129 git ews guard check --policy x -- git log
'

test_expect_success 'settings hold, those that a repository may choose' '
	test_repo settings && cd settings &&
	printf "qe:\n  git_guard:\n    allow_status: no\n    block_commit: no\n" >superqode.yaml &&
	test_must_fail git ews guard check -q -- git status && test_must_fail git ews guard check -q -- git commit &&
	git -c ews.gitGuard.blockCommit=false ews guard check -q -- git commit &&
	git -c ews.guard.policy=inside ews guard check -q -- git reset && test_must_fail git ews guard check -q -- git reset &&
	git -c ews.gitGuard.enabled=false ews guard check -q -- git reset --hard &&
	git ews guard list >out && test_grep ! "^git status" out && test_grep "^git log" out && cd ..
'

test_expect_success 'list: a line a command, with conditions' '
	git ews guard list >list && test_grep "^git rev-parse$" list && test_grep "^git add	only with --dry-run" list &&
	test_grep "^git branch	.*no further word; but with.* --list" list && test_grep ! "^git commit	" list && test_grep ! "^git commit$" list &&
	git ews guard list --policy inside >out && test_grep "^git commit$" out && test_grep ! "^git push" out &&
	test_grep "^git config	never writing with --global --system --file$" out && test_grep "^git archive	never with --remote$" out && test_grep "^git tag$" out &&
	git ews guard list --json >out && test_json out .schema ews.guard_list/1 && test_json out ".commands[0].subcommand" status
'

test_done
