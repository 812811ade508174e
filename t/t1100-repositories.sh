#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='repositories of every kind: served, or refused by one exact error before anything is touched (P1, P8)'

. "$(dirname "$0")/test-lib.sh"

# git's own status must not refresh the project's index
GIT_OPTIONAL_LOCKS=0
export GIT_OPTIONAL_LOCKS

# serves <project> [<argument of start>...]: the whole way through, and the project does not notice.
serves() {
	git -C "$1" status --porcelain >want && test_fingerprint "$1" >fp.before && start_ws "$@" &&
		git -C "$ws" status --porcelain >got && test_cmp want got &&
		test "$(git -C "$1" rev-parse HEAD)" = "$(git -C "$ws" rev-parse HEAD)" &&
		(cd "$ws" && echo edit >>src/main.c && echo new >new && rm run.sh && git ews diff) >changes && test_grep "^+edit" changes &&
		snap=$(cd "$ws" && git ews snapshot create) && (cd "$ws" && git ews revert) >out && test_grep "Status: Verified" out &&
		(cd "$ws" && git ews diff) >changes && test_must_be_empty changes && git -C "$ws" status --porcelain >got && test_cmp want got &&
		(cd "$ws" && git ews snapshot verify "$snap" && git ews undo) >out 2>err && test_grep "^edit" "${ws:?}/src/main.c" &&
		(cd "$ws" && git ews end) >out 2>err && test_path_is_missing "$ws" &&
		test_fingerprint "$1" >fp.after && test_cmp fp.before fp.after && git -C "$1" -c advice.sparseIndexExpanded=false fsck --no-dangling >out 2>&1 && test_must_be_empty out
}

# refuses <project> <pattern> [<argument of start>...]: one error that says why, and nothing was touched.
# libgit2 1.5 forgets to free what it read of a repository that it can't make sense of: leaks are not looked for here
refuses() {
	project=$1 pattern=$2
	shift 2
	"$EWS_SRC/t/lister" "$project" >files.before && find "$HOME/.superqode" -path '*/qe/*' -prune -print >home.before
	code=0
	ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" git-ews -C "$project" start "$@" >out 2>err || code=$?
	case $code in 1 | 128) ;; *) echo >&2 "status $code" && return 1 ;; esac && test_must_be_empty out && test_grep -i -e "$pattern" err &&
		test_line_count -le 2 err && "$EWS_SRC/t/lister" "$project" >files.after && test_cmp files.before files.after &&
		{ find "$HOME/.superqode" -path '*/qe/*' -prune -print >home.after || :; } && test_cmp home.before home.after &&
		test_expect_code $code env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" git-ews -C "$project" start --json "$@" >out 2>err && test_json out .error.message
}

test_expect_success 'setup' '
	mkdir "$HOME/.superqode" && chmod 700 "$HOME/.superqode" && test_repo origin && git -C origin config uploadpack.allowFilter true && serves origin
'

test_expect_success 'worktreeConfig, with and without format 1, and settings there' '
	git clone -q origin wc && git -C wc config extensions.worktreeConfig true && git -C wc config --worktree core.fileMode true &&
	serves wc && git -C wc config core.repositoryFormatVersion 1 && serves wc &&
	git -C wc worktree add -q ../wc-linked && git -C wc-linked config --worktree user.name other && serves wc-linked &&
	test "$(git -C wc-linked config user.name)" = other
'

test_expect_success 'preciousObjects: no object goes' '
	git clone -q origin precious && git -C precious config core.repositoryFormatVersion 1 && git -C precious config extensions.preciousObjects true &&
	loose=$(echo loose | git -C precious hash-object -w --stdin) && git -C precious cat-file --batch-all-objects --batch-check >objects.before &&
	serves precious && git -C precious cat-file --batch-all-objects --batch-check >objects.after && grep -q "^$loose" objects.after &&
	comm -23 objects.before objects.after >gone && test_must_be_empty gone
'

test_expect_success 'a split index' '
	git clone -q origin split && git -C split update-index --split-index && (cd split && echo more >>src/log && git add src/log) &&
	ls split/.git/sharedindex.* && serves split && git -C split config core.splitIndex true && serves split
'

test_expect_success 'a split index whose shared file is gone: named' '
	git clone -q origin lost && git -C lost update-index --split-index && rm lost/.git/sharedindex.* && refuses lost "shared file .sharedindex"
'

# git 2.40 and later write no hash with index.skipHash; older ones read that, but their fsck finds it wanting
test_expect_success 'an index without a hash' '
	git clone -q origin skip && git -C skip config index.skipHash true && git -C skip config core.fsmonitor false &&
	size=$(wc -c <skip/.git/index) && truncate -s $((size - 20)) skip/.git/index && truncate -s $size skip/.git/index &&
	start_ws skip && test_same_tree skip "$ws" && git -C "$ws" status --porcelain >got && test_must_be_empty got && echo edit >>"${ws:?}/src/main.c" &&
	git -C skip ews revert >out && test_grep "Status: Verified" out && git -C skip ews end && test "$size" = "$(wc -c <skip/.git/index)" &&
	test "$(tail -c 20 skip/.git/index | tr -d "\\0" | wc -c)" = 0
'

test_expect_success 'an index of version 4, with the untracked cache and the end-of-index entry' '
	git clone -q origin v4 && git -C v4 config index.threads 4 && git -C v4 update-index --index-version 4 --untracked-cache && git -C v4 status >out && serves v4
'

test_expect_success 'a sparse checkout' '
	git clone -q origin sparse && git -C sparse sparse-checkout set src && test_path_is_missing sparse/docs && serves sparse &&
	git -C sparse sparse-checkout set --no-cone "/*" "!/docs" && serves sparse
'

test_expect_success 'P2: patterns of a sparse checkout that were changed are back after a revert, by each method; so is what an undo of it takes back' '
	git -C sparse sparse-checkout set src && git -C sparse sparse-checkout list >want && for method in worktree snapshot; do
		start_ws sparse --method $method && git -C "$ws" sparse-checkout list >got && test_cmp want got && git -C "$ws" sparse-checkout add docs && test_path_is_file "${ws:?}/docs/crlf.txt" && git -C "$ws" sparse-checkout list >changed &&
		git -C "$ws" ews revert >out && test_grep "Status: Verified" out && git -C "$ws" sparse-checkout list >got && test_cmp want got && test_path_is_missing "${ws:?}/docs" && git -C "$ws" ews undo && git -C "$ws" sparse-checkout list >got && test_cmp changed got && test_path_is_file "${ws:?}/docs/crlf.txt" &&
		git -C "$ws" sparse-checkout disable && (cd "$ws" && rm "$(git rev-parse --git-path info/sparse-checkout)") && git -C "$ws" ews revert >out && test_grep "Status: Verified" out && git -C "$ws" sparse-checkout list >got && test_cmp want got && git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C "$ws" ews end || return 1
	done && git -C sparse ews start --method in-place here >out && git -C sparse sparse-checkout add docs && git -C sparse ews end here && git -C sparse sparse-checkout list >got && test_cmp want got && test_path_is_missing sparse/docs
'

test_expect_success STRACE 'P2: patterns that can not be read just now are not said to be none: no base is recorded without them' '
	git -C sparse sparse-checkout set src && git -C sparse sparse-checkout list >want && at=$(cd sparse/.git/info && pwd -P) && for fault in "openat sparse-checkout" "read ${at:?}/sparse-checkout" "openat2 info"; do
		test_expect_code 128 test_strace trace -P "${fault#* }" -e trace=${fault%% *} -e inject=${fault%% *}:error=EIO git -C sparse ews start --method in-place here 2>err && test_grep INJECTED trace && test_grep "^error: .*Input/output error" err || { echo >&2 "$fault"; return 1; }
	done && git -C sparse ews list >out && test_must_be_empty out && git -C sparse ews start --method in-place here && git -C sparse sparse-checkout add docs && git -C sparse ews end here && git -C sparse sparse-checkout list >got && test_cmp want got
'

test_expect_success 'P2: revert to a state that says nothing of patterns leaves them, and those of a base without any mean nothing' '
	git clone -q origin full && start_ws full && git -C "$ws" sparse-checkout set src && test_path_is_missing "${ws:?}/docs" && git -C "$ws" ews revert >out && test_grep "Status: Verified" out && test_path_is_file "${ws:?}/docs/crlf.txt" &&
	git -C "$ws" reset -q --hard && test_path_is_file "${ws:?}/docs/crlf.txt" && test_expect_code 128 git -C "$ws" sparse-checkout list && git -C "$ws" ews end
'

test_expect_success 'a copy has the settings of the project.s own work tree' '
	git clone -q origin mine && git -C mine config extensions.worktreeConfig true && git -C mine config --worktree core.autocrlf true && git -C mine config --worktree user.name Mine && git -C mine config --worktree core.fsmonitor /bin/false && start_ws mine --method snapshot &&
	test "$(git -C "$ws" config user.name)" = Mine && test "$(git -C "$ws" config core.autocrlf)" = true && test_expect_code 1 git -C "$ws" config core.fsmonitor && git -C mine config extensions.worktreeConfig false && start_ws mine --method snapshot other && test_expect_code 1 git -C "$ws" config core.autocrlf
'

test_expect_success 'a sparse index' '
	git clone -q origin sidx && git -C sidx sparse-checkout set --cone --sparse-index src/deep &&
	git -C sidx ls-files --sparse >entries && grep "^docs/\$" entries && git -C sidx ls-files >out &&
	serves sidx
'

test_expect_success 'a shallow clone' '
	git clone -q --depth 1 "file://$PWD/origin" shallow && test_path_is_file shallow/.git/shallow && serves shallow
'

test_expect_success 'a clone that shares its objects, and one with commit-graph, bitmaps and many packs' '
	git clone -q --shared origin shared && test_path_is_file shared/.git/objects/info/alternates && serves shared &&
	git clone -q --no-local origin packs && git -C packs repack -q -adb && git -C packs commit-graph write --reachable && git -C packs multi-pack-index write && serves packs
'

test_expect_success 'a partial clone: what is there is served without fetching, what is not is named' '
	git clone -q --filter=blob:none "file://$PWD/origin" partial &&
	printf "#!/bin/sh\ntouch \"%s\"\nexec git-upload-pack \"\$@\"\n" "$PWD/fetched" >pack && chmod +x pack &&
	git -C partial config remote.origin.uploadpack "$PWD/pack" && serves partial && test_path_is_missing fetched &&
	git -C partial for-each-ref >refs.before && test_expect_code 128 git -C partial ews start --base HEAD~1 old >out 2>err && test_must_be_empty out &&
	git -C partial rev-list --objects --missing=print HEAD~1 | sed -n "s/^?//p" >promised && test -s promised &&
	test_line_count = 2 err && sed -n "s/.*object \([0-9a-f]*\) is missing from this partial clone$/\1/p" err >named && test -s named && grep -q -f named promised &&
	test_path_is_missing fetched && git -C partial for-each-ref >refs.after && test_cmp refs.before refs.after &&
	test_must_fail git -C partial ews path old && test_expect_code 128 git -C partial ews diff HEAD~2 HEAD~1 >out 2>err && test_must_be_empty out && test_grep "[0-9a-f]\{40\}" err && test_path_is_missing fetched
'

test_expect_success 'verify: what is promised is no damage, what the snapshot alone has is' '
	start_ws partial older && git -C "${ws:?}" update-ref --no-deref HEAD HEAD~1 && echo own >"${ws:?}/own" && git -C partial ews snapshot create older >snap && git -C partial ews snapshot verify --all && test_path_is_missing fetched &&
	blob=$(git -C partial rev-parse "refs/ews/snapshots/$(cat snap):own" | sed "s,^..,&/,") && mv "partial/.git/objects/$blob" own.gone && test_expect_code 1 git -C partial ews snapshot verify "$(cat snap)" >out && test_grep ": own: " out && mv own.gone "partial/.git/objects/$blob" && git -C partial ews end older >out
'

test_expect_success 'P4: a tree that the index alone names is kept there, and is whole but for what is promised' '
	start_ws partial index && (cd "${ws:?}" && git update-ref --no-deref HEAD HEAD~1 && git read-tree HEAD && echo new >new && git update-index --add new && git write-tree --missing-ok) >treeid && git -C partial ls-tree -r "$(cat treeid)" >out && grep -q -f promised out &&
	git -C partial ews snapshot create index >snap && git -C partial ls-tree --name-only "refs/ews/snapshots/$(cat snap)^2" trees/ >out && echo "trees/$(cat treeid)" | test_cmp - out && git -C partial ews snapshot verify "$(cat snap)" && test_path_is_missing fetched &&
	git -C partial ews end index >out
'

test_expect_success 'SHA-256: no object of another length gets in' '
	(GIT_DEFAULT_HASH=sha256 && export GIT_DEFAULT_HASH && test_repo sha256) && test "$(git -C sha256 rev-parse --show-object-format)" = sha256 &&
	serves sha256 && git -C sha256 fsck --strict >out 2>&1 && git -C sha256 count-objects -v >out && test_grep ! "garbage: [1-9]" out
'

test_expect_success 'an extension or a format that nobody knows' '
	git clone -q origin ext && git -C ext config core.repositoryFormatVersion 1 && echo "[extensions] frobnicate = true" >>ext/.git/config && refuses ext "frobnicate" &&
	git clone -q origin format && sed -i "s/repositoryformatversion = 0/repositoryformatversion = 99/" format/.git/config && refuses format "99\|version" &&
	git clone -q origin reftable && git -C reftable config core.repositoryFormatVersion 1 && echo "[extensions] refStorage = reftable" >>reftable/.git/config && refuses reftable "refstorage\|reftable"
'

test_expect_success ROOT 'another owner: refused as git does, served once the user says so, never because the repository says so' '
	git clone -q origin theirs && chown -R 65534:65534 theirs && git -C theirs config --file .git/config safe.directory "*" &&
	test_must_fail git -C theirs status 2>err && refuses theirs "safe.directory\|owner" &&
	git config --global --add safe.directory "$PWD/theirs" && test_when_finished "git config --global --unset-all safe.directory" &&
	git -C theirs status && serves theirs
'

test_expect_success ROOT 'another owner of a linked work tree: the same, where what says which that is can not be read just now as well' '
	git clone -q origin whose && git -C whose worktree add -q ../whose-linked && chown -R 65534:65534 whose-linked && refuses whose-linked "belongs to another user" && for error in EIO EMFILE; do
		look=0 && while test_more_looks; do test_look $error "worktrees/whose-linked/gitdir$" -C whose-linked status >out 2>err && test_must_be_empty out && test_grep "^error: " err || return 1; done && test $look -gt 1 || return 1
	done
'

test_expect_success 'what can not be looked at just now is neither of another owner nor nowhere' '
	git clone -q origin own && git -C own worktree add -q ../own-linked && for error in EIO EMFILE; do
		look=0 && while test_more_looks; do test_look $error "/own(-linked)?(/[.]git(/worktrees(/own-linked)?)?)?$" -C own-linked status >out 2>err && test_grep ! "belongs to another\|no git directory" err || return 1; done && test $look -gt 4 || return 1
	done
'

test_expect_success USERS 'the same for an ordinary user in a repository of root' '
	git clone -q origin roots && chmod -R a+rwX roots && test_expect_code 128 test_as_user git -C roots ews start >out 2>err && test_must_be_empty out && test_grep "safe.directory\|owner" err &&
	test_expect_code 128 test_as_user env SUPERQODE_HOME="$PWD/home-65534/named" git -C roots -c color.ui=never ews status 2>err && test_grep "^error: .*belongs to another user$" err &&
	git -C roots for-each-ref refs/ews >refs && test_must_be_empty refs
'

quote="'"
test_expect_success USERS 'P9: what is shown to be copied there has the path as one word, whatever it is called' '
	evil="o${quote};touch PWNED;${quote}o" && git clone -q origin "$evil" && chmod -R a+rwX "$evil" && test_expect_code 128 test_as_user git -C "$evil" ews start 2>err && line=$(sed -n "s/^hint: if you trust it: //p" err) && test "$line" &&
	sh -c "git() { shift 4; printf \"%s\\n\" \"\$@\"; }; $line" >got && echo "$PWD/$evil" >want && test_cmp want got && test_path_is_missing PWNED
'

test_expect_success USERS 'a repository that may be read alone: one error, no litter' '
	git clone -q origin ro && test_give_user ro && chmod -R a-w ro && { "$EWS_SRC/t/lister" -x .git/objects ro && ls -R ro/.git/objects; } >before &&
	test_expect_code 128 test_as_user git -C ro ews start >out 2>err && test_must_be_empty out && test_line_count -le 2 err &&
	{ "$EWS_SRC/t/lister" -x .git/objects ro && ls -R ro/.git/objects; } >after && test_cmp before after && find home-65534/.superqode -path "*/qe/*" >found && test_must_be_empty found
'

# all_verbs <project>: each that makes something in its git directory
all_verbs() {
	start_ws "$1" one && (cd "$ws" && echo 1 >one && git add one && git commit -qm one && echo 2 >two && git ews snapshot create -m a && echo 3 >>two && snap=$(git ews snapshot create -m b) &&
		echo 4 >>two && git add two && git ews revert && git ews undo && git ews snapshot drop "$snap" && git ews snapshot prune --keep 0) >out 2>&1 &&
		git -C "$1" ews apply --commit one && git -C "$1" ews end one --branch one && start_ws "$1" copy --method snapshot &&
		(cd "$ws" && echo 1 >three && git add three && git commit -qm three && git ews revert && git ews undo && git ews end copy --branch two) >out 2>&1 &&
		git -C "$1" ews start i --method in-place && (cd "$1" && echo 1 >four && git add four && git ews revert && git ews undo && git ews end i) >out 2>&1 &&
		start_ws "$1" many && for i in $(seq 60); do echo "$i" >"${ws:?}/$i" || return 1; done && git -C "$1" ews end many && git -C "$1" ews undo many && echo log >log && git -C "$1" ews artifact add --type log "$PWD/log" &&
		start_ws "$1" rev && git -C "$1" checkout -q -b moved && git -C "$1" ews end rev && git -C "$1" ews round start --agent a --label label >out 2>&1 && git -C "$1" ews guard install && git -C "$1" ews clean
}

# What git itself makes with the umask alone is not looked at.
made_below() {
	project=$1
	shift
	find "${project:?}/.git" "$@" ! -name COMMIT_EDITMSG ! -name ORIG_HEAD ! -path "${project:?}/.git/ews-hooks/*" -printf "%m %p\n"
}

# what a lock of git's is for the one user keeps out the other
test_expect_success 'P1: core.sharedRepository: whatever the umask, the others can go on with all that is made in the git directory' '
	(umask 077 && for format in sha1 sha256; do
		git init -q --shared=group --object-format=$format sh.$format && echo a >sh.${format:?}/a && git -C sh.$format add a && git -C sh.$format commit -qm a && made_below sh.$format -type d ! -perm -2070 >bad && test_must_be_empty bad &&
			all_verbs sh.$format && made_below sh.$format -type d ! -perm -2070 >bad && test_must_be_empty bad && made_below sh.$format -type f ! -path "*/objects/*" ! -perm -060 >bad && test_must_be_empty bad &&
			made_below sh.$format -type f ! -perm -040 >bad && test_must_be_empty bad && made_below sh.$format -perm /07 >bad && test_must_be_empty bad && git -C sh.$format ews guard uninstall || return 1
	done) &&
	(umask 077 && git init -q --shared=all sh.all && echo a >sh.all/a && git -C sh.all add a && git -C sh.all commit -qm a && all_verbs sh.all && made_below sh.all -type d ! -perm -2775 >bad && test_must_be_empty bad && made_below sh.all -type f ! -perm -044 >bad && test_must_be_empty bad) &&
	(umask 022 && git init -q --shared=0640 sh.exact && echo a >sh.exact/a && git -C sh.exact add a && git -C sh.exact commit -qm a && all_verbs sh.exact && made_below sh.exact -perm /07 >bad && test_must_be_empty bad && made_below sh.exact ! -perm -040 >bad && test_must_be_empty bad)
'

test_expect_success STRACE 'P1: core.sharedRepository: nothing is made for the one user alone where the config can not be read, from whichever opening on' '
	for method in worktree snapshot; do
		rm -rf sh.unread && (umask 077 && git init -q --shared=group sh.unread && git -C sh.unread commit -q --allow-empty -m a && n=0 && while n=$((n + 1)); do
			mkdir "sh.unread/d${n:?}" && echo $n >"sh.unread/d${n:?}/f" && { test_strace log -P "$PWD/sh.unread/.git/config" -e trace=openat -e inject=openat:error=EIO:when=$n+ git-ews -C sh.unread start --method $method u$method$n >out 2>err || test_grep "config.: Input\|core.sharedRepository.: Input" err; } &&
				made_below sh.unread \( -type f ! -perm -040 -o -type d ! -perm -2070 \) >bad && test_must_be_empty bad || return 1
			grep -q INJECTED log || break
		done && test $n -gt 6 && git -C sh.unread ews end u$method$n) || return 1
	done
'

test_expect_success 'P1: without it nothing is for anybody but whom the umask lets in' '
	(umask 077 && git init -q alone && echo a >alone/a && git -C alone add a && git -C alone commit -qm a && made_below alone -perm /077 >bad && test_must_be_empty bad && all_verbs alone && made_below alone -perm /077 >bad && test_must_be_empty bad)
'

test_expect_success 'P1: what git has in the project is back with its modes, and no drift' '
	git clone -q origin modes && chmod 600 modes/.git/index && chmod 640 modes/.git/HEAD && git -C modes ews start --method in-place m && echo b >modes/b && git -C modes update-index --add b && chmod 600 modes/.git/index && git -C modes ews end m >out 2>err &&
	test_grep ! "index" err && test "$(stat -c %a modes/.git/index)" = 600 && test "$(stat -c %a modes/.git/HEAD)" = 640
'

test_expect_success USERS 'core.sharedRepository: two users of a group, one after the other' '
	mkdir pair && chmod 755 . && chgrp 65534 pair && chmod 2770 pair && (umask 007 && cd pair && git init -q --shared=group . && echo a >a && git add . && git commit -qm a && git ews start one) >out && take_ws out &&
	for i in $(seq 60); do echo "$i" >"${ws:?}/$i" || return 1; done && git -C pair ews end one && test_as_user git config --global --add safe.directory "*" && test_as_user git config --global user.name a && test_as_user git config --global user.email a && (umask 007 && cd pair && test_as_user git fsck && test_as_user git ews start two &&
	echo b | test_as_user git hash-object -w --stdin && test_as_user git gc -q && test_as_user git ews end two && test_as_user git ews start i --method in-place && echo c >a && test_as_user git ews revert && test_as_user git ews end i && git fsck && git ews start three && git gc -q)
'

test_expect_success 'a git directory elsewhere, a submodule, core.worktree, a project behind a link' '
	git clone -q --separate-git-dir=elsewhere.git origin sep && serves sep &&
	git clone -q --separate-git-dir="$(printf "with\nan end ")" origin sep-odd && serves sep-odd &&
	git init -q super && git -C super submodule --quiet add "$PWD/origin" sub && git -C super commit -qm sub && serves super/sub &&
	git clone -q origin wt && git clone -q origin tree && rm -rf tree/.git && git -C wt config core.worktree "$PWD/tree" && (
		cd tree && GIT_DIR=$SHARNESS_TRASH_DIRECTORY/wt/.git && export GIT_DIR && git ews start w >../out && git ews end w 2>../err
	) && ln -s origin by-link && serves by-link
'

# says_elsewhere <way> <key> <value>: <way> is one in which git takes nothing from it of the place of said/
says_elsewhere() {
	git config --file said/.git/inc "$2" "$3" && case $1 in
	include) git -C said config include.path inc ;;
	includeIf) git -C said config includeIf.gitdir:/.path inc ;;
	global) git config --global "$2" "$3" ;;
	unversioned) git -C said config --unset core.repositoryFormatVersion && git -C said config "$2" "$3" ;;
	esac
}

test_expect_success 'P1: of core.worktree and core.bare counts what the repository itself says, as for git: not what it includes, not what the user says' '
	for way in include includeIf global unversioned; do
		for key in core.worktree core.bare; do
			rm -rf said named && test_repo said && cp -r said named && rm -rf named/.git && cp named/run.sh before && echo more >>said/run.sh && git -C said diff >patch && git -C said checkout -q run.sh && value=true && case $key in *.worktree) value=$PWD/named ;; esac && says_elsewhere $way $key "$value" && test "$(git -C said rev-parse --show-toplevel)" = "$PWD/said" &&
			{ git -C said ews doctor >out || test $? = 1; } && test_grep "^ok *core.bare" out && git -C said ews apply "$PWD/patch" && test_grep "^more" said/run.sh && (cd said && git ews start --method in-place s && echo again >>run.sh && git ews end s) >out 2>err && test_grep "Status: Verified" out && test_grep ! "To take that back" err && git -C said ews undo && git -C said ews undo && test_grep "^again" said/run.sh && git -C said ews end -q s && test_cmp before named/run.sh && { test $way != global || git config --global --unset $key; } || { echo >&2 "$way $key"; return 1; }
		done
	done
'

test_expect_success 'P1: a linked work tree is where its own config.worktree has it, or the config of all where each may have one; git works there' '
	for file in ".git/worktrees/lw/config.worktree" .git/config; do
		rm -rf all lw lw-m named && test_repo all && git -C all config extensions.worktreeConfig true && git -C all worktree add -q ../lw -b lw && cp -r lw named && rm named/.git && git config --file "all/$file" core.worktree "$PWD/named" && test "$(git -C lw rev-parse --show-toplevel)" = "$PWD/named" && cp named/run.sh before &&
		(cd lw && git ews start --method in-place s) >out && echo "$PWD/named" | test_cmp - out && echo more >>named/run.sh && echo mine >>lw/run.sh && cp lw/run.sh mine && git -C lw ews diff s >patch && test_grep "^+more" patch && if test "$file" != .git/config; then test_expect_code 128 git -C all ews end s 2>err && test_grep "works in another work tree itself: .$PWD/lw" err; fi && git -C all worktree move ../lw ../lw-m && git -C lw-m ews end s >out && test_grep "Status: Verified" out && test_cmp before named/run.sh && git -C lw-m ews undo s && git -C lw-m ews undo s && test_grep "^more" named/run.sh && git -C lw-m ews end -q s &&
		(cd lw-m && git ews start w) >out && take_ws out && echo other >>"${ws:?}/src/main.c" && git -C "$ws" ews apply && test_grep "^other" named/src/main.c && git -C "$ws" ews end -q && git -C lw-m ews undo && git -C lw-m ews undo && git -C lw-m ews end -q w && test_cmp mine lw-m/run.sh && git -C lw-m diff --exit-code -- src || { echo >&2 "$file"; return 1; }
	done
'

# seen_from_within <name>: of the workspace $ws each verb works that asks for no file of the project
seen_from_within() {
	echo edit >>"${ws:?}/src/main.c" && git -C "$ws" ews diff >changes && test_grep "^+edit" changes && git -C "$ws" ews status >out 2>&1 && test_grep "$1 .*active" out && test_grep ! stale out &&
		snap=$(git -C "$ws" ews snapshot create) && git -C "$ws" ews revert >out && test_grep "Status: Verified" out && git -C "$ws" ews revert --to "$snap" >out && test_grep "Status: Verified" out
}

test_expect_success 'from a workspace: the project whose git directory, elsewhere, names it; or that GIT_WORK_TREE named' '
	git clone -q --separate-git-dir=cw.git origin cw.was && mkdir cw && git --git-dir=cw.git config core.worktree "$PWD/cw" && git --git-dir=cw.git config core.bare false && git -C cw --git-dir=../cw.git reset -q --hard &&
	start_ws cw.git cw && seen_from_within cw && git -C "$ws" ews apply 2>err && step=$(sed -n "s/.*git ews undo \(op-[^ ]*\). takes.*/\1/p" err) && test_grep "^edit" cw/src/main.c && git -C "$ws" ews undo >out && git -C "$ws" ews undo $step && test_grep ! "^edit" cw/src/main.c && git -C "$ws" ews end &&
	git clone -q --bare origin env.git && mkdir env && (GIT_DIR=$PWD/env.git && GIT_WORK_TREE=$PWD/env && export GIT_DIR GIT_WORK_TREE && cd env && git reset -q --hard && git ews start en) >out && take_ws out && seen_from_within en &&
	test_expect_code 129 git -C "$ws" ews apply 2>err && test_grep "bare" err && (GIT_DIR=$PWD/env.git && GIT_WORK_TREE=$PWD/env && export GIT_DIR GIT_WORK_TREE && cd env && git ews apply en) && test_grep "^edit" env/src/main.c && git -C "$ws" ews end
'

# own_place <project> [<argument of start>...]: git in the workspace works on the workspace, whatever is done there, and after a revert, too.
own_place() {
	start_ws "$@" && for again in 0 1; do
		test "$(git -C "$ws" rev-parse --show-toplevel)" = "$ws" && test "$(git -C "$ws" rev-parse --is-bare-repository)" = false &&
			git -C "$ws" config core.sparseCheckout >got && echo true | test_cmp - got && echo edit >>"${ws:?}/src/main.c" && git -C "$ws" reset -q --hard &&
			git -C "$ws" clean -fdxq && git -C "$ws" ews revert >out && test_grep "Status: Verified" out || return 1
	done && git -C "$ws" ews end
}

# git moves these two settings into config.worktree itself: "git sparse-checkout set" in a submodule does
test_expect_success 'P1: what config.worktree says of the place of the project is not said of a workspace' '
	git -C super/sub sparse-checkout set src && git config -f super/.git/modules/sub/config.worktree core.worktree >out && echo mine >>super/sub/src/main.c && echo mine >super/sub/new &&
	test_fingerprint super/sub >fp.before && own_place super/sub && own_place super/sub --base HEAD && snap=$(git -C super/sub ews snapshot create) && own_place super/sub --from $snap &&
	start_ws super/sub && git -C "$ws" ews revert --to $snap >out && test_grep "Status: Verified" out && test "$(git -C "$ws" rev-parse --show-toplevel)" = "$ws" && git -C "$ws" ews end &&
	git -C super/sub ews snapshot drop $snap && test_fingerprint super/sub >fp.after && test_cmp fp.before fp.after
'

test_expect_success 'a project that holds a submodule: the gitlink stays, the nested repository is named' '
	git -C super ews start sm >out 2>err && take_ws out && test_grep sub err && git -C super ls-files -s sub >want && git -C "$ws" ls-files -s sub >got && test_cmp want got &&
	git -C super ews revert sm >out && test_grep "Status: Verified" out && git -C super ews end sm
'

test_expect_success 'paths with odd names' '
	for name in "a  b" "q\"uote" "do\$lar" "uml-ä" "-dash" "new
line" "per%20cent" "$(printf "raw\\377")"; do
		git clone -q origin "./$name" && serves "./$name" || return 1
	done
'

test_expect_success 'grafted and replaced history is not followed by what is kept; a revision one of whose files is replaced is none to start from' '
	git clone -q origin repl && git -C repl replace --graft HEAD HEAD~2 && serves repl && git clone -q origin repl2 &&
	blob=$(git -C repl2 rev-parse HEAD:src/main.c) && other=$(echo replaced | git -C repl2 hash-object -w --stdin) && git -C repl2 replace $blob $other &&
	start_ws repl2 && test_same_tree origin "$ws" && git -C repl2 ews revert >out && test_grep "Status: Verified" out && git -C repl2 ews end && test_expect_code 128 git -C repl2 ews start --base HEAD 2>err && test_grep "in the place of .$blob." err
'

test_expect_success 'HEAD and config that make no sense: one error' '
	git clone -q origin badhead && echo garbage >badhead/.git/HEAD && refuses badhead . &&
	git clone -q origin badref && echo 1234567890123456789012345678901234567890 >badref/.git/refs/heads/main && refuses badref . &&
	git clone -q origin badindex && echo garbage >badindex/.git/index && refuses badindex index &&
	git clone -q origin badconfig && echo "[broken" >>badconfig/.git/config && test_expect_code 128 git-ews -C badconfig start >out 2>err && test_must_be_empty out && test_grep "^hint: mend it with an editor" err
'

test_expect_success STRACE 'P1, P8: a repository that can not be looked at just now is not passed by: neither the one around it nor a plain directory is taken for it' '
	test_repo around && test_repo around/in && start_ws around so && echo agent >>"${ws:?}/run.sh" && git -C around ews apply so && cp around/run.sh want && in=$PWD/around/in && for fault in ".git newfstatat EIO" ".git/HEAD openat EMFILE" ".git/objects newfstatat EIO" ".git readlink EIO"; do
		path="${in:?}/${fault%% *}" && calls=${fault#* } && for verb in undo "start x" "clean --force" list; do
			(cd around/in && test_expect_code 128 test_strace ../../trace -P "$path" -e trace=${calls% *} -e inject=${calls% *}:error=${calls#* } "$EWS_BIN/git-ews" $verb 2>../../err) && test_grep INJECTED trace && test_grep "^error: cannot" err && test_cmp want around/run.sh || { echo >&2 "$fault: $verb"; return 1; }
		done || return 1
	done && git -C around ews list >out && test_line_count = 1 out && git -C around/in ews list >out && test_must_be_empty out && git -C around ews undo && git -C around ews end so
'

test_done
