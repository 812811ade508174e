#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='guard check --shell: every command of a text is judged, and none is run (P6)

Most verdicts are in t/unit/guard_shell.c. Here are the way in, and texts that sh runs: what the guard lets through
changes nothing in a repository, and what changes something it does not let through.'

. "$(dirname "$0")/test-lib.sh"

# git diff writes the index anew where a file's stat data are not those in it; as run starts it, it has one of its own.
fingerprint() {
	test_fingerprint "$1" >"$1.found" && sed "/^index	/d" "$1.found"
}

# judged <code> [<policy>]: each line that comes is a text that the guard lets through (0), or stops (1)
judged() {
	while IFS= read -r text; do
		code=0 && git ews guard check -q ${2:+--policy "$2"} --shell "$text" || code=$?
		test $code = "$1" || { echo "$code: $text" && return 1; }
	done
}

test_expect_success 'setup' '
	test_repo project &&
	fingerprint project >clean
'

test_expect_success 'P6: a text gets the worst verdict of its commands' '
	git ews guard check --shell "git log --oneline | head -5" >out &&
	echo "allowed: git log (read)" >expect &&
	test_cmp expect out &&
	test_expect_code 1 git ews guard check --shell "git status; x=\$(git commit -m y); git log" >out &&
	test_grep "^blocked: git commit (" out &&
	test_grep "^use: " out
'

test_expect_success 'P6: what git prints is written over no file of a workspace' '
	test_expect_code 1 git ews guard check --shell "git show HEAD:a > a" >out &&
	test_grep "^blocked: git show .*written into a file" out &&
	test_grep "^use: .*below /tmp" out &&
	git ews guard check -q --shell "git show HEAD:a > /tmp/a; git log >/dev/null 2>&1; git log | wc -l > n" &&
	git ews guard check -q --policy inside --shell "git show HEAD:a > a"
'

test_expect_success 'P6: JSON names the command within the text' '
	test_expect_code 1 git ews guard check --json --shell "if true; then git reset --hard; fi" >out &&
	test_json out .command "if true; then git reset --hard; fi" &&
	test_json out .subcommand reset &&
	test_json out .operation_type destructive &&
	test_json out .is_blocked true &&
	test_json out .policy read-only
'

test_expect_success 'P6: a text that cannot be read is denied, in one line' '
	test_expect_code 1 git ews guard check --shell "git log
\"x" >out &&
	test_grep "ends within double quotes" out &&
	test_expect_code 1 git ews guard check --shell "git log \"\$x
y\"" >out &&
	test_line_count = 2 out
'

test_expect_success 'nothing of a text is run' '
	git ews guard check --shell "touch ran; : >ran2; x=\$(touch ran3)" >out &&
	test_path_is_missing ran &&
	test_path_is_missing ran2 &&
	test_path_is_missing ran3
'

test_expect_success 'a text or a command, and not both' '
	test_expect_code 129 git ews guard check --shell "git log" -- git log &&
	test_expect_code 129 git ews guard check --shell &&
	test_expect_code 129 git ews guard check
'

test_expect_success 'P6: the argv of a shell is looked into' '
	git ews guard check -q -- sh -c "git status && git diff" &&
	test_expect_code 1 git ews guard check -q -- sh -c "git status && git push" &&
	test_expect_code 1 git ews guard check -q -- env A=b bash -lc "echo \`git commit\`"
'

# Each line as a text: what the guard allows leaves the repository as it is.
test_expect_success 'P6: what sh does to the repository was denied' '
	cat >texts <<-\EOF &&
	git log --oneline | head -2
	git log -1; git branch made
	x=$(git rev-parse HEAD) && git show --stat "$x"
	x=$(git tag made)
	echo "`git tag made`"
	for i in 0 1; do git show "HEAD~$i" --stat; done
	for f in a b; do git tag "$f"; done
	if git diff --quiet; then git log -1; fi
	if git diff --quiet; then git tag made; fi
	git ls-files | while read -r f; do git log -1 --format=%H -- "$f"; done
	git rev-parse HEAD | xargs git tag made
	eval "git tag" made
	sh -c "g\"\"it tag made"
	f() { git tag "$@"; }; f made
	(cd . && { git tag made; })
	git diff --output=.git/made
	x=--output=.git/made; git diff $x
	x=$(printf %s --output=.git/made); git diff "$x"
	for o in --output=.git/made; do git log -1 "$o"; done
	: >.git/made
	git log -1 >.git/made
	cat <<-E | sh; git tag made; E
	! git tag made
	git status --short && git stash list || git log -1
	case x in x) git tag made ;; esac
	git describe --always; git for-each-ref | wc -l
	env git tag made
	sh -c -e "git tag made"
	sh -c -- "git tag made"
	x=$(cd /tmp && pwd); git log -1 >made
	cd .git && (cd .. && ls) && : >made
	truncate -s 0 .gi*/config
	find . -not -path "./.git/*" -name "b*" -exec chmod u+w {} +
	command git tag made
	cp a .git/HEAD -f
	ln -sf a .git/HEAD -v
	cp -t.git b
	cp -pt .git/info b
	cp b --target-dir .git
	cd .git; cd refs; rm -rf heads
	cd .git && cd ./refs && cd .. && rm HEAD
	for d in .git build; do rm -rf "$d"; done
	for f in a .git/HEAD; do echo made >"$f"; done
	d=$(git rev-parse --git-dir); rm -rf "$d"
	d=$(git rev-parse --git-common-dir) && e=$d && rm -rf "$e"
	rm -rf "$(git rev-parse --absolute-git-dir)"
	cd "$(git rev-parse --absolute-git-dir)" && rm HEAD
	cp a .git*/HEAD
	dd if=a of=.gi[t]/HEAD
	env -C .git rm -rf objects
	env --chdir=.git sh -c "rm HEAD"
	rm -rf "${d:-.git}"
	find . -type d -name ".gi*" -exec rm -rf {} +
	find . -path "./.git*" -exec rm {} \;
	sort -o .git/HEAD a
	sed -n "w .git/HEAD" a
	sed "s/a/b/w .git/HEAD" a
	awk "{print > \".git/HEAD\"}" a
	git\
	EOF
	denied=0 && changed=0 &&
	while IFS= read -r text; do
		rm -rf copy && cp -a project copy &&
		(cd copy && GIT_OPTIONAL_LOCKS=0 sh -c "$text" >../out 2>&1 </dev/null; :) &&
		fingerprint copy >after || return 1
		if ! git ews guard check -q --shell "$text"
		then
			denied=$((denied + 1))
		elif ! test_cmp clean after
		then
			echo "allowed: $text"
			return 1
		fi
		cmp -s clean after || changed=$((changed + 1))
	done <texts &&
	test $denied -ge $changed &&
	test $changed -ge 15
'

test_expect_success 'P6: what other shells and programs do to a repository is denied' '
	cat >texts <<-\EOF &&
	rsync x .git/ --delete
	rsync -a x y --backup-dir .git/x
	install -Dt .git/hooks x
	install -d .git/hooks/x x
	mv -t.git/hooks x
	mv --target-directory=.git x
	pushd .git; pushd hooks; rm x
	echo x > .gi*/HEAD
	rm -rf .gi{t,x}
	rm -rf {a,.g{it,x}}
	rm -rf .gi{s..u}
	rm -rf x/{.git/hooks,y}
	rm -rf $\047.git\047
	find . -path "./.gi?/*" -delete
	find . -iname ".GI*" -delete
	gawk -i inplace 1 .git/config
	ruby -i -pe x .git/config
	patch -d .git
	EOF
	sed -i "s/.047/\x27/g" texts &&
	while IFS= read -r text; do
		test_expect_code 1 git ews guard check -q --shell "$text" || { echo "allowed: $text" && return 1; }
	done <texts
'

test_expect_success 'P6: the value of an option is no target, and a name that is like it no ".git"' '
	cat >texts <<-\EOF &&
	rsync -a src/ dst/ --exclude .git
	rsync -av --delete . /tmp/x --exclude .git
	touch -r .git/HEAD x
	chmod --reference .git/config f
	cp -r .git /tmp/x -v
	cp --target-directory dst .git/config
	mv a{,.bak}; rm -rf build{1..9} .git{hub,lab} .cache{,.old}
	cd .git; ls; cd ..; rm x
	cd .git/hooks; cd ../..; rm x
	cd .git; cd /tmp; rm x
	for d in build dist; do rm -rf "$d"; done
	for f in .git/hooks/*; do cat "$f"; done
	d=$(git rev-parse --git-dir); cat "${d:?}/HEAD"; d=build; rm -rf "$d"
	d=$(git rev-parse --show-toplevel); rm -rf "${d:?}/build"
	env -C src make clean
	rm -rf "${d:-build}"
	find . -name "*.o" -delete; find . -name ".*.swp" -delete
	find . -type f ! -name ".*" -exec chmod 644 {} +
	sort -o a a; sed -n "w out" f; awk "{print > \"out\"}" f; gawk -i inplace 1 f
	EOF
	while IFS= read -r text; do
		git ews guard check --shell "$text" || return 1
	done <texts
'

test_expect_success 'P6: a command behind words of zsh, and a text that npm is given' '
	for text in "- git push" "=git push" "repeat 3 git push" "npm exec -c \"git push\"" "npx --call \"git push\"" "npm x --call=\"git push\"" "npx -p x -c \"git push\""; do
		test_expect_code 1 git ews guard check --shell "$text" >out && test_grep "^blocked: git push" out || return 1
	done && git ews guard check -q --shell "npm exec -c \"tsc -p .\"; npx eslint -c \"\$config\" .; repeat 3 git log -1; npx -c \"git log -1\""
'

test_expect_success 'P6: what bash shifts begins no here-document: the lines behind it are commands' '
	printf "(( made = 1 << 2 ))\ngit tag made\n" >text && rm -rf copy && cp -a project copy && (cd copy && bash ../text) && git -C copy rev-parse -q --verify refs/tags/made &&
	test_expect_code 1 git ews guard check --shell "$(cat text)" >out && test_grep "shells differ" out && git ews guard check -q --shell "if (( \$# > 1 )); then git log -1; fi"
'

test_expect_success 'P6: what find is told to leave out by its name alone it goes into all the same' '
	for text in "find . ! -path ./.git -name HEAD -delete" "find . ! -name .git -name HEAD -delete" "find . \\( ! -path \"./.git/*\" -o -name HEAD \\) -delete"; do
		rm -rf copy && cp -a project copy && (cd copy && sh -c "$text"; :) >out 2>&1 && test_path_is_missing copy/.git/HEAD &&
		test_expect_code 1 git ews guard check --shell "$text" >out && test_grep "behind git.s back" out || return 1
	done
'

test_expect_success 'P6: what find passes by and does something with all the same is not left out' '
	for text in "find . -type d -name .git -prune -exec rm -rf {} +" "find . -depth -name .git -prune -o -type f -exec rm -f {} +" "find . -name .git -prune , -type d -name .git -exec rm -rf {} +"; do
		rm -rf copy && cp -a project copy && (cd copy && sh -c "$text"; :) >out 2>&1 && test_path_is_missing copy/.git/HEAD || return 1
		echo "$text" >>deeds
	done && judged 1 <deeds && judged 1 <<-\EOF && judged 0 <<-\EOF2
	find . -depth -name .git -prune -o -delete
	find . -mindepth 2 -name .git -prune -o -type f -exec rm -f {} +
	find . -name .git -prune -print -exec rm -rf {} +
	find . \( -name .git -prune -o -name x \) -exec rm -rf {} +
	find . \( -name .git -prune \) -exec rm -rf {} +
	find . -mindepth 1 ! -name .git -prune -o -exec rm -rf {} +
	find . -name .git -prune -false -o -exec rm -rf {} +
	find . -name .git -prune -empty -o -exec rm -rf {} +
	EOF
	find . -type d -name .git -prune -o -type f -exec chmod 644 {} +
	find . -name .git -prune -print0 -o -type f -name "*.o" -exec rm -f {} +
	find . \( -name .git -o -name build \) -prune -o -name "*.o" -exec rm {} +
	find . ! \( -name .git -prune \) -type f -exec chmod 644 {} +
	find . -mindepth 1 -name .git -prune -o -type f -exec chmod 644 {} +
	find . -mindepth 1 -maxdepth 1 -name .git -prune -o -exec rm -rf {} +
	find . -maxdepth 1 -name .git -prune -o -type f -delete
	find . -name .git -prune -o -depth -type f -print
	find . -depth -name "*.o" -delete
	EOF2
'

test_expect_success 'P6: behind "time" a shell takes any command of its own' '
	rm -rf copy && cp -a project copy && (cd copy && bash -c "time LC_ALL=C git tag made" && git rev-parse -q --verify refs/tags/made) 2>/dev/null >out &&
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	time LC_ALL=C git tag made
	time -p ! git tag made
	time -- time git tag made
	time git tag made
	time -v git tag made
	time -f %e -o out git tag made
	time export GIT_DIR=x; git log
	time cd .git; rm HEAD
	time trap "git push" EXIT
	time if true; then git push; fi
	time alias g="git push"
	EOF
	time LC_ALL=C git log -1
	time -p git status
	time -f %e git log -1
	time ! git diff --quiet
	time (cd .git; ls); rm x
	time; git log -1
	time make | tee /tmp/x
	TIMEFORMAT=%R; time for i in 1 2; do git show "HEAD~$i"; done
	EOF2
'

test_expect_success 'P6: letters behind an array belong to it: what follows them is the command' '
	rm -rf copy && cp -a project copy && (cd copy && bash -c "a=(x)c git tag made" && git rev-parse -q --verify refs/tags/made) >out 2>&1 &&
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	a=(x)c git tag made
	a=(x)"c" git tag made
	a=(x)$b git tag made
	declare -a a=(x)c; git tag made
	EOF
	a=(x y); git log -1
	declare -a a=(x y) b=(z); git log -1
	EOF2
'

test_expect_success 'P6: a shell in ">(...)", and one in a text for a shell, get what is written to them' '
	for text in "sh -c sh <<< \"git tag made\"" "echo git tag made | sh -c sh" "echo git tag made > >(sh)" "eval sh <<< \"git tag made\""; do
		rm -rf copy && cp -a project copy && (cd copy && bash -c "$text" && sleep 0.1 && git rev-parse -q --verify refs/tags/made) >out 2>&1 && test_expect_code 1 git ews guard check -q --shell "$text" || { echo "$text" && return 1; }
	done && judged 1 <<-\EOF && judged 0 <<-\EOF2
	tee >(sh) <<< "git tag made"
	echo git tag made | eval sh
	echo git tag made | sh -c "sh -s"
	sh -c "sh -c sh" <<< "git tag made"
	EOF
	make > >(tee /tmp/log) 2>&1
	exec > >(tee -a /tmp/x) 2> >(tee /tmp/y >&2)
	git log | tee >(wc -l) | head
	eval sh <<< "git log"
	sh -c "sh" <<< "git log"
	echo x | sh -c "sh <<< \"git log\""
	cat f | bash -c "while read l; do echo \$l; done; sh build.sh"
	ls | sh -c "python3 -c \"print(1)\""
	EOF2
'

test_expect_success 'P6: a placeholder checks signatures behind a sign, too' '
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	git log --format="%h %+G?"
	git log --format="% GK"
	git log --pretty="tformat:%-GS"
	git log --format="%%%G?"
	git for-each-ref --format="%(*signature:grade)" refs/tags
	git for-each-ref --sort=-signature:key
	git branch --sort signature
	EOF
	git log --format="%h %+s %-b% an"
	git log --format="100%%Good %h"
	git for-each-ref --sort=-committerdate --format="%(*objecttype) %(contents:signature)"
	git tag --sort=-v:refname
	EOF2
'

test_expect_success 'P6: what git tells of its directory is a path there to every program, behind whatever runs it' '
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	sudo rm -rf "`git rev-parse --git-dir`/hooks"
	G=$(git rev-parse --git-dir); sudo rm -rf "$G/hooks"
	command rm -rf "$(git rev-parse --git-dir)"
	env rm -rf "$GIT_DIR"
	time rm -rf "${GIT_DIR:-.git}"
	find "$(git rev-parse --git-dir)" -type f -delete
	dd if=x of="`git rev-parse --git-dir`/HEAD"
	tar -C "$(git rev-parse --git-dir)" -xf x
	perl -pi -e s/a/b/ "`git rev-parse --git-dir`/config"
	sed -i s/a/b/ "`git rev-parse --git-dir`/config"
	curl --output="`git rev-parse --git-dir`/hooks/x" u
	echo x | sudo tee "`git rev-parse --git-dir`/config"
	sudo git log "$GIT_DIR"
	EOF
	sudo cat "`git rev-parse --git-dir`/HEAD"
	find "$(git rev-parse --git-dir)" -name "*.lock"
	test -e "`git rev-parse --git-dir`/MERGE_HEAD" && git status
	cp -r "$GIT_DIR" /tmp/x
	tar -czf /tmp/x.tgz "$GIT_DIR"
	d=.git; sh -c "if test -d $d; then ls $d; fi"
	env git -C "$GIT_DIR" log -1
	grep url "`git rev-parse --git-dir`/config" | sudo tee /tmp/x
	EOF2
'

test_expect_success 'P6: inside, what asks a remote or writes settings elsewhere is known in each spelling' '
	judged 1 inside <<-\EOF && judged 0 inside <<-\EOF2
	git rebase -ix "git push" HEAD~1
	git rebase --ex "git push" HEAD~1
	git rebase --ex="git push" HEAD~1
	git rebase -ix"git push" HEAD~1
	git difftool -yx "git push"
	git difftool --extc="git push"
	git archive --remote=ssh://h/r HEAD
	git archive HEAD --remote x
	git maintenance run --task=prefetch
	git maintenance run --task gc --task prefetch
	git maintenance run --schedule=hourly
	GIT_CONFIG=/x/y git config a.b c
	git fetch origin .
	git fetch --all .
	git fetch --multiple . origin
	git fetch --upload-pack=x .
	git pull --recurse-submodules .
	git push --repo=. main
	git push ../p main
	x=$(cat y) && git push . "$x"
	git -c remote...url=/x push . main
	git -c Remote...pushurl=/x push . main
	git -c remote...uploadpack=x fetch . main
	git -c url.ssh://x/.insteadOf=. pull . main
	git -c push.recurseSubmodules=on-demand push . main
	git config remote...url /x
	git config set --append remote...pushurl /x
	git config --add Remote...vcs x
	git config --rename-section a remote..
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote...url GIT_CONFIG_VALUE_0=/x git push . main
	env GIT_CONFIG_KEY_0=url.ssh://x/.insteadOf git push . main
	GIT_CONFIG_PARAMETERS="$x" git push . main
	EOF
	git rebase -ix "make check" HEAD~1
	git rebase -s recursive -X theirs main
	git rebase -i --autosquash --exec "git diff --check" main
	git difftool -yx diff HEAD~1
	git archive --format=tar.gz -o x.tgz HEAD
	git maintenance run --auto
	git maintenance run --task=commit-graph --task=gc
	git config a.b c
	git fetch -q . main:other
	git pull --rebase . main
	git push . HEAD:refs/heads/other
	git -c color.ui=never push . main
	git -c remote.x.url=/x log
	git config --get remote...url
	git config remote.x.url ../p
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=x git commit -m x
	EOF2
'

test_expect_success 'P6: a command behind setarch, a lock or bun, and one of sed without a blank' '
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	flock x --command "git push"
	setarch -R git push
	setarch x86_64 -R git push
	linux64 git push
	bun -e "x(\"git push\")"
	bun x git push
	sed -n "1w.git/x" f
	sed "s/a/b/w.git/y" f
	sed "1egit push" f
	EOF
	flock x --command "git status && make"
	setarch -R make git
	setarch x86_64 -R git log
	linux32 make
	bun -e "console.log(1)"
	bun run git
	sed "s/digit/letter/w out" f
	sed -n "/legit/w.gitignore" f
	EOF2
'

test_expect_success 'P6: ids that git prints may be several words, and a variable is set in more ways than one' '
	rm -rf copy && cp -a project copy && (cd copy && echo x >a.b && git config $(git rev-parse a.b b) && test "$(git config a.b)" = b) >out 2>&1 &&
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	git config $(git rev-parse a.b b)
	x=$(git rev-parse a.b b); git config $x
	x=status; printf -vx commit; git $x
	x=status; read -ax <<< commit; git $x
	x=status; read x[0] <<< commit; git $x
	x=status; printf -v "x[0]" commit; git $x
	x=status; declare -n y=x; y=commit; git $x
	x=status; command . ./f; git $x
	x=status; builtin source ./f; git $x
	x=status; declare IFS=t; git log $x
	printf -vGIT_DIR /x; git log
	EOF
	git config "$(git rev-parse HEAD)"
	git log $(git rev-list --max-parents=0 HEAD)..HEAD
	git cat-file -t $(git rev-parse HEAD)
	git branch --contains $(git rev-parse HEAD)
	n=5; git log -n $n --oneline
	x=HEAD; printf -v y %s b; read -r z; local w=b; git log $x
	x=HEAD; command -v git; export PATH=$PATH:/x; git log $x
	T=$(mktemp -d); git log > $T/x
	EOF2
'

test_expect_success 'P6: a regular expression of find stands for a .git, too' '
	text="find . -regex \".*/\\.git/.*\" -delete" && rm -rf copy && cp -a project copy && (cd copy && sh -c "$text") >out 2>&1 && test_path_is_missing copy/.git/HEAD &&
	test_expect_code 1 git ews guard check -q --shell "$text" && judged 1 <<-\EOF && judged 0 <<-\EOF2
	find . -regex ".*/[.]git/.*" -delete
	find . -regextype posix-extended -regex ".*/\.git(/.*)?" -delete
	find . -regex "\./\.git/hooks/.*" -exec chmod 644 {} +
	find . -iregex ".*/\.GIT/.*" -delete
	find . -type f -regex "\./\..*" -delete
	EOF
	find . -regex ".*\.\(o\|pyc\)" -delete
	find . -regex ".*/\.gitignore" -exec chmod 644 {} +
	find . -regex ".*" -name "*.o" -delete
	find . -type f ! -regex ".*/\.git/.*" -exec chmod 644 {} +
	find . -type f -not -regex ".*/\.git\(/.*\)?" -exec chmod 644 {} +
	find . -regex ".*/\.git" -prune -o -type f -exec chmod 644 {} +
	find . -regex ".*/\.git/.*" -print
	EOF2
'

test_expect_success 'P6: from a directory in a .git, a name is in there wherever it is glued to' '
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	cd .git; dd if=x of=HEAD
	cd .git; cp -thooks /x
	cd .git; cp --target-directory=hooks /x
	cd .git; sort -oHEAD x
	cd .git; curl --output=HEAD u
	cd .git; tar -Chooks -xf /x
	cd .git; sed -n "w HEAD" x
	cd .git; awk "{print > \"HEAD\"}" x
	cd .git; rm -rf "$PWD"/hooks
	cd .git; echo x >"$PWD"/HEAD
	cd .git; find . -type f -print0 | xargs -0 rm
	cd .git; rm -rf hooks
	EOF
	cd .git; dd if=HEAD of=/tmp/x
	cd .git; cp -t/tmp HEAD
	cd .git; cp HEAD /tmp/x; cat "$PWD"/HEAD
	cd .git; sort -o/tmp/x packed-refs
	cd .git; curl -o - u; wget -O - u
	cd .git; tar -cf /tmp/x.tar hooks
	cd .git; sed -n "1p;w /tmp/x" HEAD; awk "{print \$1}" HEAD; python3 -c "print(1)"
	cd .git; find . -type f -print0 | xargs -0 wc -l
	cd .git; cd ..; rm -rf "$PWD"/build
	EOF2
'

test_expect_success 'P6: a substitution in braces, which zsh takes for one, makes a text unclear' '
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	echo ${$(git push)}
	echo "${$(git push)}"
	EOF
	echo ${$} ${$%1} ${x:-$(git log -1)} ${#x} "$$(git log -1)"
	EOF2
'

test_expect_success 'P6: other programs that run a command or a text, or write where an option says' '
	judged 1 <<-\EOF && judged 0 <<-\EOF2
	hyperfine --prepare="git reset --hard" x
	sg g -c "git push"
	make | ifne git push
	cpulimit -l 5 -- git push
	wget -P .git/hooks u
	wget --directory-prefix=.git u
	curl --output-dir .git/hooks -O u
	curl -sSLo .git/HEAD u
	EOF
	hyperfine --warmup=3 --prepare="make clean" "git log -1"
	sg g -c make
	make | ifne git log -1
	cpulimit -l 5 -- git status
	wget -P /tmp https://x/y.git; wget -qO- u
	curl --output-dir src -O https://x/.git/config
	curl -sSL -H "Accept: x" -o out u
	git ews clean -n; git ews revert -n
	EOF2
'

test_done
