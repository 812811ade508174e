#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='line ends and encodings: the twin has the project'\''s bytes; what comes from a commit is as git would write it (P2, P9)'

. "$(dirname "$0")/test-lib.sh"

GIT_OPTIONAL_LOCKS=0
export GIT_OPTIONAL_LOCKS

# same_as_git <project> <workspace>: the files of HEAD are what git's own checkout gives
same_as_git() {
	rm -rf checkout && git clone -q --no-checkout "$1" checkout && cp "${1:?}/.git/config" checkout/.git/config &&
		{ test ! -f "${1:?}/.git/info/attributes" || { mkdir -p checkout/.git/info && cp "${1:?}/.git/info/attributes" checkout/.git/info/; }; } &&
		git -C checkout config --remove-section filter.mine 2>err
	git -C checkout reset -q --hard && "$EWS_SRC/t/lister" -m -x .git checkout >want && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$2" >got && test_cmp want got
}

eol_repo() {
	git init -q "$1" && (
		cd "$1" && printf 'one\ntwo\n' >plain.txt && printf 'one\r\ntwo\r\n' >crlf.txt && printf 'a\0b\n' >bin.dat && printf 'mixed\r\nlf\n' >mixed &&
			printf 'x\ny\n' >dos.bat && printf '$Id$\nx\n' >ident.c && printf '\376\377\000a\000\n' >wide.txt && mkdir sub && printf 'q\n' >sub/in.cmd && printf 'q\n' >sub/raw.cmd &&
			printf 'u\nv\n' >unix.sh && printf 'u\nv\n' >old.txt2 && printf 'u\nv\n' >auto.md &&
			printf '*.sh text eol=lf\n*.txt2 crlf\n*.md text=auto eol=lf\n*.bat text eol=crlf\n*.c ident\nwide.txt text working-tree-encoding=UTF-16\n*.cmd text eol=crlf\n' >.gitattributes &&
			printf 'raw.cmd -text\n' >sub/.gitattributes && : >empty.bat && printf 'no end' >no.bat && printf 'odd\n' >"odd
name.bat" && git add . && git commit -qm eol
	)
}

for setting in "" core.autocrlf=true core.autocrlf=input core.eol=crlf; do
	name=$(echo "r-$setting" | tr '=.' '--')
	export name setting

	test_expect_success "P2: --base with attributes and '$setting': as git checks it out, and clean" '
		eol_repo "$name" && { test -z "$setting" || git -C "$name" config "${setting%=*}" "${setting#*=}"; } && start_ws "$name" --base HEAD b &&
		same_as_git "$name" "$ws" && git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C "$name" ews diff b >out && test_must_be_empty out &&
		echo more >>"${ws:?}/dos.bat" && rm "${ws:?}/wide.txt" && git -C "$name" ews revert b >out && test_grep "Status: Verified" out && same_as_git "$name" "$ws" &&
		git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C "$name" ews end b
	'

	test_expect_success "P2: without --base the bytes are the project'\''s, '$setting'" '
		printf "lf now\n" >"${name:?}/dos.bat" && start_ws "$name" t && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$name" >want && "$EWS_SRC/t/lister" -m -x .git "$ws" >got && test_cmp want got &&
		git -C "$name" ews end t
	'
done

test_expect_success 'P2: attributes outside of the tree have the rank that git gives them, at --base and end --branch' '
	outside() {
		git -C "$1" worktree add -q --detach ../git-has && start_ws "$1" --base HEAD o && "$EWS_SRC/t/lister" -m -x .git git-has >want && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$ws" >got && test_cmp want got &&
		git -C git-has status --porcelain >want && git -C "$ws" status --porcelain >got && test_cmp want got &&
		for at in git-has "$ws"; do printf "a\r\nb\r\n" >"${at:?}/new.txt" && printf "x\r\n" >"${at:?}/OTHER.TXT" && printf "\$Id: 1\$\n" >"${at:?}/new.id" || return 1; done &&
		git -C git-has add -A && git -C git-has ls-files -s new.txt OTHER.TXT new.id | cut -d" " -f2 >want && git -C "$1" ews end o --branch "$2" && git -C "$1" rev-parse "$2:OTHER.TXT" "$2:new.id" "$2:new.txt" >got && test_cmp want got && git -C "$1" worktree remove --force ../git-has
	} &&
	git init -q rank && (cd rank && printf "*.txt text eol=crlf\n*.id ident\n" >.gitattributes && printf "hi\n" >w.txt && printf "hi\n" >A.TXT && printf "\$Id\$\n" >x.id && git add . && git commit -qm rank) && outside rank plain &&
	mkdir -p rank/.git/info && printf "*.txt -text\n*.id -ident\n" >rank/.git/info/attributes && outside rank info &&
	printf "*.TXT text eol=crlf\n" >user && git config --global core.attributesFile "$PWD/user" && outside rank both && rm rank/.git/info/attributes && outside rank users && git config --global core.attributesFile "~/user" && mv user "${HOME:?}/user" && outside rank tilde &&
	git config --global --unset core.attributesFile && mkdir -p "${HOME:?}/.config/git" && mv "${HOME:?}/user" "${HOME:?}/.config/git/attributes" && outside rank default && rm "${HOME:?}/.config/git/attributes" && git -C rank config core.ignoreCase true && outside rank folded
'

# git compares sizes before it reads: a file whose ident was not expanded is changed for it, though it would commit the same
test_expect_success 'the branch of a session, and of a round, goes by the .gitattributes that git ignores as well, as git add does' '
	git init -q unseen && (cd unseen && printf "*.lua text eol=crlf\n" >.gitattributes && mkdir d && printf "*.id ident\n" >d/.gitattributes && printf ".gitattributes\n/x.id\n" >.gitignore &&
		seq 9 >a.lua && seq 3 >d/in.lua && git add . && git commit -qm unseen && rm a.lua d/in.lua && git checkout -q .) &&
	{ seq 9 | sed "5s/.*/X/" | git hash-object --stdin && printf "new\n" | git hash-object --stdin && printf "\$Id\$\n" | git hash-object --stdin; } >want &&
	edit() { sed -i "5s/.*/X\r/" "${1:?}/a.lua" && printf "new\r\n" >"${1:?}/d/new.lua" && printf "\$Id: 1\$\n" >"${1:?}/d/x.id"; } &&
	is_right() { git -C unseen rev-parse "$1:a.lua" "$1:d/new.lua" "$1:d/x.id" >got && test_cmp want got && git -C unseen diff --name-only HEAD "$1" >got && printf "%s\n" a.lua d/new.lua d/x.id | test_cmp - got; } &&
	for method in worktree snapshot in-place; do
		start_ws unseen --method $method $method && edit "$ws" && git -C unseen ews end --branch $method $method && is_right $method && git -C unseen ews end --branch $method.late $method && is_right $method.late || return 1
	done &&
	start_ws unseen late && edit "$ws" && git -C unseen ews end late && git -C unseen ews end --branch late late && is_right late &&
	ws=$(git -C unseen ews round start --agent ann) && edit "$ws" && branch=$(git -C unseen ews round end --agent ann) && is_right "$branch" &&
	sed -i "1s/.*/HERE\r/" unseen/a.lua && git -C unseen commit -qam here && git -C unseen merge -q "$branch" && git -C unseen status --porcelain >out && test_must_be_empty out
'

test_expect_success 'attributes that a session in place brought, and git ignores, hold for its branch once they are gone' '
	git init -q brought && (cd brought && echo .gitattributes >.gitignore && seq 9 >a && git add . && git commit -qm brought) && start_ws brought --method in-place own &&
	(cd brought && mkdir -p s/t && echo "*.lua text eol=crlf" >.gitattributes && echo "*.lua -text" >s/t/.gitattributes && printf "a\r\n" | tee s/x.lua >s/t/x.lua) && git -C brought ews end --branch now own && test_path_is_missing brought/.gitattributes && git -C brought ews end --branch late own &&
	for branch in now late; do { echo a | git hash-object --stdin && printf "a\r\n" | git hash-object --stdin; } >want && git -C brought rev-parse $branch:s/x.lua $branch:s/t/x.lua >got && test_cmp want got || return 1; done
'

test_expect_success 'those of the project that are none of a session that has ended give none to its branch' '
	git init -q since && echo a >since/f.txt && git -C since add . && git -C since commit -qm since && ws=$(git -C since ews start since) && echo b >>"${ws:?}/f.txt" && git -C since ews end since &&
	echo "*.txt working-tree-encoding=UTF-16" >since/.gitattributes && git -C since ews end --branch new since && printf "a\nb\n" | git hash-object --stdin >want && git -C since rev-parse new:f.txt >got && test_cmp want got &&
	git init -q gone && echo "* text eol=lf" >gone/.gitattributes && echo a >gone/f && git -C gone add . && git -C gone commit -qm gone && ws=$(git -C gone ews start gone) && rm "${ws:?}/.gitattributes" && printf "b\r\n" >"${ws:?}/f" && git -C gone ews end gone && git -C gone ews end --branch b gone &&
	printf "b\r\n" | git hash-object --no-filters --stdin >want && git -C gone rev-parse b:f >got && test_cmp want got && git -C gone rm -q --cached .gitattributes && echo .gitattributes >>gone/.git/info/exclude && git -C gone commit -qm ignored && git -C gone ews end --branch c gone && git -C gone rev-parse c:f >got && test_cmp want got
'

test_expect_success 'what is no file, or lies beyond a link, gives no attributes to a branch' '
	git init -q odd && (cd odd && printf ".gitattributes\n/l\n" >.gitignore && mkdir e && touch e/k && git add . && git commit -qm odd) && echo "*.lua text eol=crlf" >rules && start_ws odd away &&
	ln -s "$PWD/rules" "${ws:?}/.gitattributes" && mkdir "${ws:?}/e/.gitattributes" && printf "a\r\n" | tee "${ws:?}/e/x.lua" >"${ws:?}/x.lua" && git -C odd ews end --branch away away &&
	blob=$(printf "a\r\n" | git hash-object --stdin) && printf "%s\n" $blob $blob >want && git -C odd rev-parse away:x.lua away:e/x.lua >got && test_cmp want got
'

test_expect_success 'P4: nor is what can not be read just now said to give none' '
	git init -q dim && echo .gitattributes >dim/.git/info/exclude && git -C dim commit -q --allow-empty -m dim && look=0 && while test_more_looks; do
		start_ws dim s$look && echo "*.lua text eol=crlf" >"${ws:?}/.gitattributes" && printf "a\r\n" >"${ws:?}/x.lua" &&
		test_look EIO "/qe/s[0-9]*/[.]gitattributes$" -C dim end s$look --no-artifacts --branch b$look >out 2>err &&
		if git -C dim rev-parse -q --verify b$look:x.lua >got; then echo a | git hash-object --stdin | test_cmp - got; fi || return 1
	done && test $look -gt 2
'

test_expect_success 'git status of the twin is the project'\''s where git goes by the size alone' '
	git init -q size && (cd size && echo "*.c ident" >.gitattributes && echo "\$Id\$" >a.c && git add . && git commit -qm ident && rm a.c && git checkout -q a.c && echo "\$Id\$" >a.c) &&
	git -C size status --porcelain >want && test_grep "^ M a.c" want && start_ws size s && git -C "$ws" status --porcelain >out && test_cmp want out && git -C size ews end s
'

test_expect_success 'P9: no filter program of the repository runs; --run-filters runs those of the user' '
	test_repo f && (cd f && echo "*.up filter=mine" >.gitattributes && echo text >a.up && git add . && git commit -qm up && git config filter.mine.smudge "touch \"$PWD/ran\"; tr a-z A-Z") &&
	start_ws f --base HEAD one && echo text >want && test_cmp want "${ws:?}/a.up" && test_path_is_missing f/ran && test_grep "a.up.*filter .mine. is not run" err && git -C f ews end one &&
	start_ws f --base HEAD --run-filters two && test_cmp want "${ws:?}/a.up" && test_path_is_missing f/ran && test_grep "is not run" err && git -C f ews end two &&
	git config --global filter.mine.smudge "tr a-z A-Z" && git config --global filter.mine.clean "tr A-Z a-z" && start_ws f --base HEAD three && test_cmp want "${ws:?}/a.up" && git -C f ews end three &&
	start_ws f --base HEAD --run-filters four && echo TEXT >want && test_cmp want "${ws:?}/a.up" && test_grep ! "is not run" err && test_path_is_missing f/ran &&
	git -C f ews revert four >out && test_grep "Status: Verified" out && git -C f ews end four
'

# Git is asked about those files alone that a line which matters may be about.
test_expect_success 'P2: whatever pattern gives the attribute, a file is as git writes it' '
	git init -q pat && (
		cd pat && mkdir -p d/deep && for f in a.x1 whole some.x2 top1 d/in.x3 d/top1 d/deep/n.x4 m.x5 q.x6 "sp ace.x7" .x9 z.x9 neg.x1 d/in.x1 pre-q; do printf "a\nb\n" >"$f" || return 1; done &&
			printf "# crlf ident\n  *.x1   eol=crlf\r\nwhole eol=crlf\n*.x2 -text -eol\n/top1 eol=crlf\nneg.x1 -text\n*-q eol=crlf\n" >.gitattributes &&
			printf "*.x3 eol=crlf\n" >d/.gitattributes && git add . && git commit -qm one &&
			printf "[attr]dos eol=crlf\n[attr]dos2 dos\n*.x5 dos2\n" >>.gitattributes && git add . && git commit -qm two &&
			printf "\"q.x6\" eol=crlf\n\"sp ace.x7\" eol=crlf\n" >.gitattributes && git add . && git commit -qm three &&
			printf "d/**/n.x4 eol=crlf\nd/*.x1 eol=crlf\n*.x[9] eol=crlf\n" >.gitattributes && git add . && git commit -qm four
	) && for rev in HEAD~3 HEAD~2 HEAD~1 HEAD; do
		git clone -q --no-checkout pat "want-$rev" && git -C "want-$rev" reset -q --hard "$(git -C pat rev-parse "$rev")" && start_ws pat --base "$rev" p &&
			"$EWS_SRC/t/lister" -m -x .git "want-$rev" >want && "$EWS_SRC/t/lister" -m -x .git "$ws" >got && test_cmp want got && git -C pat ews end p || return 1
	done
'

test_expect_success 'P2: a path that begins with a blank or a tab has its own attributes, and no other'\''s' '
	git init -q blank && (
		cd blank && tab=$(printf "\tt") && mkdir " d" "$tab" "  two" && printf "*.txt text eol=crlf\n/x.txt -text -eol\n" >.gitattributes &&
			for dir in " d" "$tab" "  two"; do printf "*.bat text eol=crlf\n*.i ident\n" >"${dir:?}/.gitattributes" && printf "a\nb\n" >"${dir:?}/t.bat" && printf "\$Id\$\n" >"${dir:?}/t.i" || return 1; done &&
			printf "a\nb\n" | tee " x.txt" x.txt y.txt >"  x.txt" && : >" empty.txt" && printf "a" >"$tab.txt" && git add . && git commit -qm blank
	) && start_ws blank --base HEAD b && same_as_git blank "$ws" && printf "a\r\nb\r\n" >want && test_cmp want "${ws:?}/ x.txt" && test_cmp want "${ws:?}/ d/t.bat" && printf "a\nb\n" >want && test_cmp want "${ws:?}/x.txt" &&
	test_grep "Id: " "${ws:?}/ d/t.i" && git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C blank ews end b
'

# raw <project> [<directory>]: the base has the bytes of the project's f.txt, of which git's index has others
raw() {
	(cd "${1:?}/${2-.}" && git ews start raw) && git -C "$1" cat-file -p :f.txt >in-index && git -C "$1" cat-file -p refs/ews/sessions/raw:f.txt >got &&
		test_must_fail test_cmp "${1:?}/f.txt" in-index && test_cmp "${1:?}/f.txt" got && git -C "$1" ews end raw
}

test_expect_success 'P2: a filter that keeps the length is not believed, wherever its attribute stands, or stood' '
	for where in ignored removed sparse relative hasconfig; do
		git init -q "$where" && (
			cd "$where" && git config filter.rot.clean "tr a-z n-za-m" && git config filter.rot.smudge "tr a-z n-za-m" && mkdir sub && echo 1 >sub/x && echo hello >f.txt && touch -d "1 hour ago" f.txt sub/x &&
				case $where in
				relative) git config core.attributesFile at && echo "*.txt filter=rot" >at ;;
				hasconfig)
					git config remote.o.url https://x/y && git config "includeIf.hasconfig:remote.*.url:https://x/**.path" "$PWD/.git/inc" &&
						git config -f .git/inc core.attributesFile "$PWD/.git/at" && echo "*.txt filter=rot" >.git/at
					;;
				ignored) echo .gitattributes >>.git/info/exclude && echo "*.txt filter=rot" >.gitattributes ;;
				*) echo "*.txt filter=rot" >.gitattributes ;;
				esac && git add . && git commit -q -m one &&
				case $where in
				removed) rm .gitattributes ;;
				sparse) git sparse-checkout set --no-cone "/*" "!/.gitattributes" ;;
				esac
		) && case $where in relative) raw $where sub ;; *) raw $where ;; esac || return 1
	done
'

# Git writes the id of what it stored where another one stood. Where there was no index, as in a new worktree, it does not look again.
test_expect_success 'P2: nor is an ident that is as long as what was stored, where git alone sees the attribute' '
	git config --global --remove-section filter.mine && for where in ignored removed sparse; do
		git init -q "id-$where" && (
			cd "id-$where" && printf "\$Id: %040d \$\n" 0 >f.txt && git add . && git commit -q -m one && echo "*.txt ident" >.gitattributes &&
				case $where in ignored) echo .gitattributes >>.git/info/exclude ;; *) git add .gitattributes && git commit -q -m two ;; esac &&
				rm f.txt .git/index && git reset -q --hard && touch -d "10 seconds" .git/index &&
				case $where in
				removed) rm .gitattributes ;;
				sparse) git sparse-checkout set --no-cone "/*" "!/.gitattributes" && touch -d "10 seconds" .git/index ;;
				esac
		) && raw "id-$where" || return 1
	done
'

test_expect_success 'P2: what git checked out in the place of an object that is replaced is what the base has' '
	git init -q re && (cd re && echo one >f.txt && git add . && git commit -q -m one && git replace $(git rev-parse :f.txt) $(echo two | git hash-object -w --stdin) && rm f.txt .git/index && git reset -q --hard && touch -d "10 seconds" .git/index && echo two | test_cmp - f.txt) &&
	(GIT_NO_REPLACE_OBJECTS=1 && export GIT_NO_REPLACE_OBJECTS && raw re) && git -C re pack-refs --all && (GIT_NO_REPLACE_OBJECTS=1 && export GIT_NO_REPLACE_OBJECTS && raw re) &&
	start_ws re re && echo edit >"${ws:?}/f.txt" && git -C re ews revert re >out && test_grep "Status: Verified" out && test_cmp re/f.txt "${ws:?}/f.txt"
'

test_expect_success 'P2: what git-lfs made a pointer of is kept as it stands' '
	git init -q lfs && (cd lfs && echo "version x" >f.txt && touch -d "1 hour ago" f.txt && git config filter.lfs.clean "git-lfs clean -- %f" && git config filter.lfs.smudge "tr a-z n-za-m" && echo .gitattributes >.git/info/exclude && echo "*.txt filter=lfs" >.gitattributes &&
		mkdir ../bin && printf "#!/bin/sh\ntr a-z n-za-m\n" >../bin/git-lfs && chmod +x ../bin/git-lfs && PATH=$PWD/../bin:$PATH git add f.txt && git commit -q -m lfs) && raw lfs
'

test_expect_success STRACE 'P2: files are written as the config has it, or not at all, whenever it can not be read for a while' '
	for key in core.autocrlf core.attributesFile; do
		cfg=cfg-$key && git init -q $cfg && printf "one\n" >"${cfg:?}/a.txt" && git -C $cfg add . && git -C $cfg commit -qm a && echo "*.txt text eol=crlf" >crlf-rules && value=true && { test $key = core.autocrlf || value=$PWD/crlf-rules; } && git -C $cfg config $key "$value" && printf "one\r\n" >want && n=0 && while n=$((n + 1)); do
			if test_strace log -P "$PWD/${cfg:?}/.git/config" -e trace=openat -e inject=openat:error=EIO:when=$n..$((n + 1)) git-ews -C $cfg start --base HEAD s$n >out 2>err; then take_ws out && test_cmp want "${ws:?}/a.txt" || return 1; else test_grep "config.: Input\|core.sharedRepository.: Input" err || return 1; fi
			grep -q INJECTED log || break
		done && test $n -gt 6 && test_path_is_dir "$ws" && git -C $cfg ews end s$n || return 1
	done
'

test_expect_success 'info/attributes counts, too' '
	test_repo i && mkdir -p i/.git/info && echo "*.c text eol=crlf" >i/.git/info/attributes && start_ws i --base HEAD x && same_as_git i "$ws" && git -C i ews end x
'

test_expect_success 'a FIFO in the place of .gitattributes is named, and not waited for' '
	test_repo fifo && start_ws fifo x && echo edit >>"${ws:?}/src/main.c" && mkfifo "${ws:?}/src/.gitattributes" && test_expect_code 128 timeout 30 git -C fifo ews end --branch b x >out 2>err && test_grep "src/.gitattributes.*is no file" err && test_path_is_dir "$ws" &&
	rm "${ws:?}/src/.gitattributes" && git -C fifo ews end --branch b x && git -C fifo show b:src/main.c >got && test_grep edit got
'

test_done
