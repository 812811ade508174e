#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='hostile ids, state, environment and workspaces are contained (P5), run nothing (P9), and are named (P8)'

. "$(dirname "$0")/test-lib.sh"

long=$(printf '%300s' '' | tr ' ' a)

# The names that home holds.
home_list() {
	find "$HOME/.superqode" -path '*/qe/*/*' -prune -o ! -name '*.lock' ! -name undo -print | sort
}

test_expect_success 'setup' '
	test_repo p && mkdir -p outside/sub && echo outside >outside/file && echo outside >outside/sub/state.json && see_outside &&
	start_ws p x && echo edit >>"${ws:?}/src/main.c" && snap=$(git -C p ews snapshot create x) && xs=$(find "$HOME/.superqode" -path "*/sessions/x") && test_path_is_dir "$xs"
'

test_expect_success 'P5: ids from hell name no session, for any verb' '
	test_fingerprint p >before && home_list >home.before && git -C p for-each-ref >refs.before &&
	for id in ../../x ../x x/../x ./x /etc "$PWD/outside" . .. ../sessions/x "a b" " " "" x.lock "x
" "*" "?" "[x]" "\$(touch hacked)" "x;touch hacked" "$long" "$(printf "\\377")" "%s%n"; do
		for verb in path diff revert end "undo" "recover" "snapshot create" "snapshot show" "snapshot drop" "snapshot verify" "snapshot restore --force" "revert --to"; do
			says_no git -C p ews $verb "$id" || { echo >&2 "verb $verb, id <$id>"; return 1; }
		done
	done &&
	for id in -rf --exec=x -x; do
		for verb in path diff revert end undo recover "snapshot show" start; do
			test_expect_code 129 git -C p ews $verb "$id" >out 2>err && test_must_be_empty out || return 1
		done
	done &&
	test_fingerprint p >after && test_cmp before after && home_list >home.after && test_cmp home.before home.after &&
	git -C p for-each-ref >refs.after && test_cmp refs.before refs.after && outside_is_whole && test_path_is_missing hacked && test_path_is_missing p/hacked
'

test_expect_success 'P5: the same in $EWS_SESSION' '
	for id in ../../x /etc x.lock "a b" "$long" -rf; do
		EWS_SESSION=$id && export EWS_SESSION && says_no git -C p ews diff && says_no git -C p ews revert && says_no git -C p ews end || return 1
	done && unset EWS_SESSION && outside_is_whole
'

# Each verb on a session whose state says what it should not; then the right state again.
with_state() {
	cp "${xs:?}/state.json" keep && cp "$1" "${xs:?}/state.json" &&
		for verb in status "status --json" "status --all" list "path x" "diff x" "snapshot create x" "revert x" "end x" "undo x" "recover --all" "recover x" "start x" "snapshot list --all"; do
			# shellcheck disable=SC2086 # two words
			ends git -C p ews $verb || {
				echo >&2 "verb $verb with this state:" && head -c 300 "$1" >&2
				cp keep "${xs:?}/state.json"
				return 1
			}
		done
	bad=0
	outside_is_whole && test_path_is_dir "$ws" && test_fingerprint p >after && test_cmp before after && test_grep edit "${ws:?}/src/main.c" || bad=1
	cp keep "${xs:?}/state.json" && return $bad
}

test_expect_success 'P5: state of garbage stops nobody, and nothing is done by it' '
	test_fingerprint p >before && cp "${xs:?}/state.json" good &&
	: >empty && printf garbage >garbage && printf "{" >open && perl -e "print q([) x 200_000" >deep && printf "[]" >array && printf null >null &&
	printf "\"x\"" >string && printf "{}" >object && printf "{\"version\":1}" >version && printf "{\"version\":\"1\"}" >wrong && printf "{\"version\":1e999}" >huge &&
	head -c 100000 /dev/urandom >random && head -c $(($(wc -c <good) / 2)) good >half && { cat good && echo x; } >tail && printf "\\357\\273\\277" >bom &&
	perl -e "print q({\"version\":1,\"id\":\"), q(x) x 5_000_000, q(\"})" >large &&
	for file in empty garbage open deep array null string object version wrong huge random half tail bom large; do
		with_state $file || return 1
	done && git -C p ews status x >out && git -C p ews diff x >out && test_grep "^+edit" out
'

test_expect_success 'P5: state whose values are of another type, or lead elsewhere' '
	perl -ne "while (/\"([a-z_]+)\"\\s*:/g) { print \"\$1\\n\" }" good | sort -u >keys && test_line_count -ge 5 keys &&
	while read -r key; do
		for value in null -1 1e99 "[]" "\"\"" "\"../../x\"" "\"$PWD/outside\"" "\"\\u0000\""; do
			KEY=$key VALUE=$value perl -0pe "s/(\"\$ENV{KEY}\"\\s*:\\s*)(\"(?:[^\"\\\\\\\\]|\\\\\\\\.)*\"|-?[0-9.]+|true|false|null)/\$1\$ENV{VALUE}/" good >bad &&
			if ! cmp -s good bad; then
				cp "${xs:?}/state.json" keep && cp bad "${xs:?}/state.json" &&
				case $value in null | *../*) set -- "status --json" "path x" "diff x" "snapshot create x" ;; *) set -- "status --json" "diff x" ;; esac && for verb; do
					ends git -C p ews $verb || { echo >&2 "$verb with $key $value"; cp keep "${xs:?}/state.json"; return 1; }
				done && outside_is_whole && cp keep "${xs:?}/state.json" || return 1
			fi
		done
	done <keys && for value in "/etc" "$PWD/outside" "$PWD/outside/sub" "$PWD" "/" "$PWD/p"; do
		sed "s|$ws|$value|g" good >bad && ! cmp -s good bad && with_state bad || { echo >&2 "workspace $value"; return 1; }
	done
'

test_expect_success 'P5: a journal of garbage, state that is a link, a directory, a FIFO, unreadable' '
	printf "garbage\\n" >>"${xs:?}/journal.bad" && mv "${xs:?}/journal.bad" bad && { test ! -e "${xs:?}/journal" || cp -p "${xs:?}/journal" journal.keep; } &&
	for text in "garbage" "{}" "{\"step\":\"rename\",\"from\":\"/etc\",\"to\":\"$PWD/outside/file\"}" "rename /etc/passwd $PWD/outside/file" "$long"; do
		printf "%s\\n" "$text" >"${xs:?}/journal" && for verb in status "diff x" "revert x" "recover --all"; do
			ends git -C p ews $verb || return 1
		done && outside_is_whole || return 1
	done && rm -f "${xs:?}/journal" && { test ! -e journal.keep || cp -p journal.keep "${xs:?}/journal"; } &&
	{ ends git -C p ews recover --all; } && cp "${xs:?}/state.json" keep && rm "${xs:?}/state.json" && ln -s "$PWD/outside/sub/state.json" "${xs:?}/state.json" &&
	ends git -C p ews status && ends git -C p ews diff x && ends git -C p ews revert x && rm "${xs:?}/state.json" &&
	mkdir "${xs:?}/state.json" && ends git -C p ews status && ends git -C p ews diff x && rmdir "${xs:?}/state.json" &&
	mkfifo "${xs:?}/state.json" && ends git -C p ews status && ends git -C p ews diff x && rm "${xs:?}/state.json" && ends git -C p ews status && ends git -C p ews diff x &&
	cp keep "${xs:?}/state.json" && chmod 600 "${xs:?}/state.json" && outside_is_whole && git -C p ews diff x >out
'

test_expect_success 'state that a newer version wrote is refused, and left as it is' '
	sed "s/\"version\"[[:space:]]*:[[:space:]]*1/\"version\":99/" good >newer && ! cmp -s good newer && cp "${xs:?}/state.json" keep && cp newer "${xs:?}/state.json" &&
	for verb in "diff x" "revert x" "end x" "snapshot create x"; do
		test_expect_code 128 git -C p ews $verb >out 2>err && test_must_be_empty out && test_grep -i "newer\|version" err || return 1
	done && cmp newer "${xs:?}/state.json" && cp keep "${xs:?}/state.json" && git -C p ews diff x >out
'

test_expect_success 'P5: a home whose parts are links to elsewhere' '
	for part in sessions qe trash locks undo; do
		cp -a outside "outside.$part" && (
			HOME=$PWD/home.$part && mkdir "$HOME" && cp home/.gitconfig "$HOME/" && test_repo "link.$part" && git -C "link.$part" ews start one >one.path &&
				dir=$(dirname "$(find "$HOME/.superqode" -path "*/working/*/sessions" -prune)") && test -d "$dir" && rm -rf "${dir:?}/$part" && ln -s "$SHARNESS_TRASH_DIRECTORY/outside.$part" "${dir:?}/$part" &&
				for verb in "start two" status "diff one" "revert one" "end one" undo "recover --all"; do
					ends git -C "link.$part" ews $verb || exit 1
				done
		) && "$EWS_SRC/t/lister" "outside.$part" >outside.got && test_cmp outside.want outside.got || { echo >&2 "part $part"; return 1; }
	done
'

test_expect_success 'P5: undo steps of garbage' '
	test_repo u && start_ws u y && echo edit >>"${ws:?}/src/main.c" && git -C u ews revert y >out && steps=$(find "$HOME/.superqode" -path "*/undo/*.json" -newer "${ws:?}/.git" | head -n 1) && test_path_is_file "$steps" &&
	cp "$steps" keep && for text in garbage "{}" "[]" "{\"version\":1,\"verb\":\"end\",\"session\":\"../../x\",\"workspace\":\"/etc\"}"; do
		echo "$text" >"$steps" && ends git -C u ews undo && ends git -C u ews undo --list && ends git -C u ews undo y && outside_is_whole || return 1
	done && sed "s|\"[^\"]*/qe/y\"|\"$PWD/outside\"|; s|\"snap-[^\"]*\"|\"../../x\"|g" keep >"$steps" && ends git -C u ews undo y && outside_is_whole &&
	cp keep "$steps" && git -C u ews undo y && test_grep "^edit" "${ws:?}/src/main.c" && git -C u ews end y
'

test_expect_success 'P4: a session that would remember more than is read again is not begun' '
	test_repo long && { printf "qe:\n  workspace:\n    exclude:\n" && quotes=$(printf "%0700d" 0 | tr 0 "\"") && for n in $(seq 900); do printf "      - '\''%d%s'\''\n" "$n" "$quotes" || return 1; done; } >long/superqode.yaml && test_expect_code 128 git -C long ews start s >out 2>err && test_must_be_empty out && test_grep "longer than" err && test_grep "^hint: .*exclude" err &&
	git -C long ews list >out && test_must_be_empty out && git -C long for-each-ref refs/ews >refs && test_must_be_empty refs && rm long/superqode.yaml && git -C long ews start s >out && git -C long ews end s
'

test_expect_success 'HOME unset, relative, missing: an error that says so, or home elsewhere' '
	test_repo h && for what in "-u HOME" "HOME=" "HOME=relative"; do
		test_expect_code 128 env $what git -C h ews start >out 2>err && test_must_be_empty out && test_grep "HOME\|home" err && test_line_count -le 2 err || return 1
	done && test_path_is_missing h/relative && test_path_is_missing relative && git -C h for-each-ref refs/ews >refs && test_must_be_empty refs &&
	env -u HOME SUPERQODE_HOME="$PWD/elsewhere" git -C h ews start there >out && take_ws out && case $ws in "$PWD"/elsewhere/*) ;; *) false ;; esac &&
	env -u HOME SUPERQODE_HOME="$PWD/elsewhere" git -C h ews revert there >out && env -u HOME SUPERQODE_HOME="$PWD/elsewhere" git -C h ews end there &&
	env -u HOME git -C h ews --home "$PWD/option" start >out && test_path_is_dir option && test_path_is_missing home/.superqode/working/h
'

test_expect_success 'home of the repository'"'"'s own choice is none' '
	git -C h config ews.home "$PWD/outside/planted" && git -C h ews start mine >out && take_ws out && case $ws in "$HOME"/*) ;; *) false ;; esac && outside_is_whole && git -C h ews end mine
'

test_expect_success USERS 'a home of another user is refused' '
	mkdir theirs-home && chown 65534:65534 theirs-home && chmod 777 theirs-home && test_expect_code 128 env SUPERQODE_HOME="$PWD/theirs-home" git -C h ews start >out 2>err &&
	test_must_be_empty out && test -s err && test -z "$(ls -A theirs-home)"
'

test_expect_success 'P5: below home all but workspaces is 0700 and 0600 under any umask' '
	for mask in 000 022 077; do
		(
			test_repo "mask$mask" && SUPERQODE_HOME=$PWD/home$mask && export SUPERQODE_HOME && "$EWS_SRC/t/lister" -x .git -m "mask$mask" | sed "/^\\.	/d" >want &&
				umask $mask && p=mask$mask && git -C $p ews start one >"$p.path" && ws=$(cat "$p.path") && echo edit >>"${ws:?}/src/main.c" && echo new >"${ws:?}/new" &&
				git -C $p ews snapshot create one >"$p.out" && git -C $p ews revert one >"$p.out" && git -C $p ews undo one && git -C $p ews revert one >"$p.out" &&
				"$EWS_SRC/t/lister" -x .git -m "$ws" | sed "/^\\.	/d" >got && umask 022 && diff -u want got >&2 &&
				git -C $p ews end one && git -C $p ews start two >"$p.path" && git -C $p ews diff two && git -C $p ews undo --list >"$p.out" &&
				find "$SUPERQODE_HOME" \( -path "*/qe/*" -o -path "*/trash/*" \) -prune -o -type d ! -perm 700 -print -o -type f ! -perm 600 ! -perm 400 -print >open && test_must_be_empty open
		) || return 1
	done
'

test_expect_success 'P5: variables that point git elsewhere are not followed' '
	test_repo g && test_repo other && echo garbage >garbage.index && mkdir nowhere && test_fingerprint other >other.before && test_fingerprint g >g.before &&
	(
		GIT_INDEX_FILE=$PWD/garbage.index GIT_OBJECT_DIRECTORY=$PWD/nowhere GIT_ALTERNATE_OBJECT_DIRECTORIES=$PWD/nowhere GIT_NAMESPACE=ns GIT_SHALLOW_FILE=$PWD/garbage.index &&
			GIT_REPLACE_REF_BASE=refs/x/ GIT_GRAFT_FILE=$PWD/garbage.index GIT_COMMON_DIR=$PWD/other/.git GIT_IMPLICIT_WORK_TREE=0 GIT_PREFIX=src/ GIT_INTERNAL_SUPER_PREFIX=x/ &&
			export GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_SHALLOW_FILE GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_IMPLICIT_WORK_TREE GIT_PREFIX &&
			cd g && git-ews start env >../out && take_ws ../out && echo edit >>"${ws:?}/src/main.c" && git-ews diff env >../changes && git-ews snapshot create env >../snap &&
			git-ews revert env >../revert && git-ews undo env && git-ews revert env >../revert
	) && test_grep "^+edit" changes && test_grep "Status: Verified" revert && ls -A nowhere >out && test_must_be_empty out && test "$(cat garbage.index)" = garbage &&
	test_same_tree g "$(git -C g ews path env)" && git -C g ews end env && test_fingerprint g >g.after && test_cmp g.before g.after && test_fingerprint other >other.after && test_cmp other.before other.after
'

test_expect_success 'GIT_DIR and GIT_WORK_TREE name the project, as in a hook; a workspace goes before them' '
	(GIT_DIR=$PWD/g/.git GIT_WORK_TREE=$PWD/g && export GIT_DIR GIT_WORK_TREE && git-ews start named >out) && take_ws out && test_same_tree g "$ws" &&
	(cd g && GIT_DIR=.git GIT_INDEX_FILE=.git/index GIT_PREFIX= && export GIT_DIR GIT_INDEX_FILE GIT_PREFIX && git-ews diff named) >changes && test_must_be_empty changes &&
	(cd "$ws" && echo inside >inside && GIT_DIR=$SHARNESS_TRASH_DIRECTORY/other/.git GIT_WORK_TREE=$SHARNESS_TRASH_DIRECTORY/other && export GIT_DIR GIT_WORK_TREE && git-ews diff) >changes &&
	test_grep "^+inside" changes && git -C g ews end named && test_fingerprint other >other.after && test_cmp other.before other.after
'

# tampered <session> <what names it>: it is named, verbs that would follow it say no, nothing runs, and revert repairs.
tampered() {
	ends git -C t ews status "$1" && cat out err >both && test_grep -i tampered both && { git -C t ews status --json "$1" >json 2>err || :; } &&
		test_json json ".sessions[0].tampered" && test_json_missing json ".sessions[0].tampered[9]" && test_json json ".sessions[0].tampered[0]" &&
		for verb in "diff $1" "snapshot create $1"; do
			# shellcheck disable=SC2086 # two words
			test_expect_code 1 git -C t ews $verb >out 2>err && test_must_be_empty out && test -s err || return 1
		done && (cd "$tw" && test_expect_code 1 git-ews diff) >out 2>err && test_must_be_empty out &&
		test_path_is_missing ran && test_fingerprint evil >evil.after && test_cmp evil.before evil.after
}

repaired() {
	git -C t ews revert "$1" >out && test_grep "Status: Verified" out && cmp "$1.gitfile" "${tw:?}/.git" && "$EWS_SRC/t/lister" -m "$admin" >admin.got && test_cmp "$1.admin" admin.got &&
		git -C t ews status "$1" >out 2>err && git -C t ews diff "$1" >changes && test_must_be_empty changes && test_path_is_missing ran
}

# new_tam <session>: its workspace in $tw, the entry in $admin, and what is right in <session>.gitfile and .admin.
new_tam() {
	start_ws -n tw t "$1" && cp "${tw:?}/.git" "$1.gitfile" && admin=$PWD/t/.git/worktrees/$1 && "$EWS_SRC/t/lister" -m "$admin" >"$1.admin"
}

test_expect_success 'setup: a repository that runs what it can' '
	test_repo t && test_repo evil && (
		cd evil && for key in core.fsmonitor core.pager diff.external core.hooksPath filter.x.clean filter.x.smudge core.sshCommand alias.ews gpg.program core.editor; do
			git config $key "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; false" || exit 1
		done && echo "* filter=x" >.git/info/attributes
	) && rm -f ran && test_fingerprint evil >evil.before
'

test_expect_success 'P9: .git that names another git directory' '
	new_tam link && for to in "$PWD/evil/.git" "$PWD/t/.git" "../../../evil/.git" "$PWD/t/.git/worktrees/other"; do
		echo "gitdir: $to" >"${tw:?}/.git" && echo edit >>"${tw:?}/src/main.c" && tampered link && repaired link || { echo >&2 "to $to"; return 1; }
	done
'

test_expect_success 'P9: .git of garbage, of 200 kB, gone, or a link' '
	new_tam odd && for how in "echo garbage >\"\${tw:?}/.git\"" "perl -e \"print q(x) x 200_000\" >\"\${tw:?}/.git\"" "rm \"\${tw:?}/.git\"" \
		"rm \"\${tw:?}/.git\" && ln -s \"$PWD/evil/.git\" \"\${tw:?}/.git\"" "rm \"\${tw:?}/.git\" && ln -s nowhere \"\${tw:?}/.git\"" "rm \"\${tw:?}/.git\" && mkfifo \"\${tw:?}/.git\""; do
		eval "$how" && echo edit >>"${tw:?}/src/main.c" && tampered odd && { repaired odd || {
			test_grep "\.git" err && rm -f "${tw:?}/.git" && repaired odd
		}; } || { echo >&2 "$how"; return 1; }
	done
'

test_expect_success 'P9: .git that became a repository of its own' '
	new_tam own && rm "${tw:?}/.git" && cp -R evil/.git "${tw:?}/.git" && echo edit >>"${tw:?}/src/main.c" && tampered own &&
	if git -C t ews revert own >out 2>err; then
		repaired own
	else
		test_grep "\.git" err && test_grep ! "Status: Verified" out && rm -r "${tw:?}/.git" && repaired own
	fi
'

test_expect_success 'P9: commondir and gitdir of the entry lead elsewhere' '
	new_tam entry && for file in commondir gitdir; do
		for to in "$PWD/evil/.git" "$PWD/outside" ../../../evil/.git garbage ""; do
			echo "$to" >"${admin:?}/$file" && echo edit >>"${tw:?}/src/main.c" && tampered entry && repaired entry || { echo >&2 "$file to $to"; return 1; }
		done && rm "${admin:?}/$file" && tampered entry && repaired entry && rm "${admin:?}/$file" && ln -s "$PWD/evil/.git/HEAD" "${admin:?}/$file" && tampered entry && repaired entry || { echo >&2 "$file"; return 1; }
	done
'

test_expect_success 'P9: settings, attributes and hooks that were planted where git would read them run nothing' '
	new_tam planted && git -C t config extensions.worktreeConfig true && git -C "$tw" config --worktree core.fsmonitor "touch \"$PWD/ran\"; false" && mkdir -p "${admin:?}/hooks" "${admin:?}/info" &&
	for hook in post-checkout post-index-change reference-transaction; do printf "#!/bin/sh\\ntouch \"%s\"\\n" "$PWD/ran" >"${admin:?}/hooks/$hook" && chmod +x "${admin:?}/hooks/$hook" || return 1; done &&
	echo "* filter=x" >"${tw:?}/.gitattributes" && git -C t config filter.x.clean "touch \"$PWD/ran\"; cat" && git -C t config diff.external "touch \"$PWD/ran\"" && rm -f ran && echo edit >>"${tw:?}/src/main.c" &&
	for verb in "status planted" "diff planted" "diff planted --stat" "snapshot create planted" "revert planted" "undo planted" "revert planted" "end planted" "undo planted"; do
		ends git-ews -C t $verb && test_path_is_missing ran || { echo >&2 "$verb"; return 1; }
	done
'

test_expect_success 'P5: HEAD and index of the entry that are links or garbage' '
	new_tam state && for file in HEAD index; do
		for how in "echo garbage >" "ln -sf \"$PWD/outside/file\"" "rm -f" mkdir; do
			rm -f "${admin:?}/$file" && eval "$how \"${admin:?}/$file\"" && echo edit >>"${tw:?}/src/main.c" && ends git-ews -C t diff state && ends git-ews -C t status && ends git-ews -C t snapshot create state &&
			git-ews -C t revert state >out && test_grep "Status: Verified" out && test_path_is_file "${admin:?}/$file" && outside_is_whole && git -c core.fsmonitor=false -C "$tw" rev-parse HEAD || { echo >&2 "$file: $how"; return 1; }
		done
	done
'

# Were any of it held, git would say no until the snapshot expires.
test_expect_success 'P1: an index that calls commits contents, and names trees that are not whole: git gc of the project works once it is gone' '
	new_tam names && for id in 1234567890123456789012345678901234567890 $(git -C t rev-parse HEAD "HEAD^{tree}"); do
		(cd "${tw:?}" && git -c core.fsmonitor=false update-index --add --cacheinfo 100644,$id,src/bad && git -c core.fsmonitor=false write-tree --missing-ok) && git-ews -C t snapshot create names >snap && git-ews -C t revert names >out && test_grep "Status: Verified" out &&
		git -C t gc -q --prune=now && git -C t fsck && git-ews -C t snapshot verify --all -q && git -C t ls-tree -r --name-only "refs/ews/snapshots/$(cat snap)^2" >got && test_grep "^index\$" got && test_grep ! "bad\|^trees" got || { echo >&2 "$id"; return 1; }
	done
'

test_expect_success 'the entry is gone: named, and revert makes it anew' '
	new_tam gone && mv "$admin" gone && ends git-ews -C t status && { git-ews -C t status --json gone >json 2>err || :; } && test_json json ".sessions[0].tampered[0]" && says_no git-ews -C t diff gone &&
	if git-ews -C t revert gone >out 2>err; then test_grep "Status: Verified" out && git -c core.fsmonitor=false -C "$tw" status >out; else mv gone "$admin"; fi
'

test_done
