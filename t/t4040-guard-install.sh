#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='guard install: hooks that ask git ews first, before those that were there (P1, P6)

What is chained and how, what is stopped where, and that nothing is left after uninstall.'

. "$(dirname "$0")/test-lib.sh"

# hook <file>: a hook that says that it ran, with its arguments and standard input
hook() {
	mkdir -p "$(dirname "$1")" && cat >"$1" <<-\EOF && chmod +x "$1"
		#!/bin/sh
		{ echo "ran $0 $*" && test "${0##*/}" = pre-commit || cat; } >>"$HOOKLOG"
	EOF
}

# stopped <sentence> <command>...: a hook of ours has stopped it
stopped() {
	want=$1 && shift
	test_must_fail "$@" >out 2>err && test_grep "git ews: blocked: $want" err
}

# as_before <hook>: what the first of our versions wrote there; of one that asks, what the last before this did
as_before() {
	sed -i '/ ||$/{N;s/ ||\n.*/; then/}' "$1" && { ! grep -q "^program=" "$1" || return 0; } && head -n 2 "$1" >first && tr ^ "$" >>first <<\EOF && cat first >"$1" && rm first
name=${0##*/}
# The hook that git would run without this directory.
dir=
while IFS= read -r path; do
	test -e "^path/.git-ews" || dir=$path
done <<END
$(git config --path --get-all core.hooksPath)
END
here=${0%/*}
test "$dir" || dir=${here%/*}/hooks
if ! test -f "^dir/$name" || ! test -x "^dir/$name"; then
	exit 0
fi
exec "^dir/$name" "$@"
EOF
}

HOOKLOG=$PWD/hooklog
export HOOKLOG

test_expect_success 'setup' '
	test_repo p && git init -q --bare up.git && git -C p remote add up "$PWD/up.git" && cp p/.git/config config.before &&
	ls -A p/.git >files.before
'

test_expect_success 'install adds lines to the config and a directory, twice the same' '
	test_fingerprint p >before && git -C p ews guard install >out 2>err && echo "$PWD/p/.git/ews-hooks" >want && test_cmp want out &&
	test_grep "before those of .*/p/.git/hooks" err && cp p/.git/config once && git -C p ews guard install >out && test_cmp once p/.git/config &&
	head -c "$(wc -c <config.before)" p/.git/config >head && test_cmp config.before head &&
	test_fingerprint p | grep -v "^ews-hooks\|^config" >after && grep -v "^config" before >rest && test_cmp rest after &&
	git -C p ews guard status --json >out && test_json out .schema ews.guard_status/1 && test_json out ".hooks[0].scope" repository &&
	test_json out ".hooks[0].is_installed" true && test_json out ".hooks[0].is_effective" true &&
	test_json out ".hooks[0].config_files[0]" "$PWD/p/.git/config" && test_json out ".hooks[0].next" "$PWD/p/.git/hooks" &&
	test_json out ".hooks[1].is_installed" false && test_json out ".not_stopped[0]" &&
	git -C p ews guard status >out && test_grep "^repository: installed" out && test_grep "git add" out
'

test_expect_success 'P1: hooks of the repository run as ever: arguments, standard input, status' '
	hook p/.git/hooks/pre-commit && hook p/.git/hooks/pre-push && hook p/.git/hooks/post-rewrite && hook p/.git/hooks/reference-transaction &&
	>"$HOOKLOG" && git -C p commit -q --allow-empty -m one && git -C p push -q up main && head=$(git -C p rev-parse HEAD) &&
	test_grep "^ran $PWD/p/.git/hooks/pre-commit $" "$HOOKLOG" && test_grep "^ran .*/hooks/pre-push up $PWD/up.git" "$HOOKLOG" &&
	test_grep "^refs/heads/main $head refs/heads/main 00" "$HOOKLOG" && test_grep "/reference-transaction prepared" "$HOOKLOG" &&
	test_grep "/reference-transaction committed" "$HOOKLOG" && test_grep " $head refs/heads/main$" "$HOOKLOG" &&
	git -C p commit -q --allow-empty --amend -m two && test_grep "^ran .*/post-rewrite amend" "$HOOKLOG" &&
	test_grep "^$head $(git -C p rev-parse HEAD)" "$HOOKLOG" &&
	printf "#!/bin/sh\nexit 7\n" >p/.git/hooks/pre-commit && test_must_fail git -C p commit -q --allow-empty -m no &&
	test_expect_code 7 p/.git/ews-hooks/pre-commit && chmod -x p/.git/hooks/pre-commit && git -C p commit -q --allow-empty -m three &&
	rm p/.git/hooks/pre-commit p/.git/hooks/reference-transaction
'

test_expect_success 'P1: so do those of a directory in the work tree, which may be named later and is never written' '
	hook p/.husky/pre-commit && git -C p config core.hooksPath .husky && >"$HOOKLOG" && git -C p commit -q --allow-empty -m husky &&
	test_grep "^ran .husky/pre-commit" "$HOOKLOG" && ls p/.husky >out && echo pre-commit >want && test_cmp want out &&
	git -C p ews guard status --json >out && test_json out ".hooks[0].next" "$PWD/p/.husky" && test_json out ".hooks[0].is_effective" true &&
	git -C p config core.hooksPath .other && hook p/.other/pre-commit && git -C p commit -q --allow-empty -m other &&
	test_grep "^ran .other/pre-commit" "$HOOKLOG" && git -C p config --unset core.hooksPath && rm -r p/.husky p/.other
'

test_expect_success 'P1: an empty core.hooksPath is none: what git does not run they do not run either' '
	hook p/.git/hooks/pre-commit && git -C p ews guard uninstall >out && git -C p config core.hooksPath "" &&
	git -C p ews guard install >out 2>err && test_grep ! "before those" err && >"$HOOKLOG" && git -C p commit -q --allow-empty -m empty && test_must_be_empty "$HOOKLOG" &&
	git -C p ews guard status >out && test_grep "run alone" out && test_grep ! "before those" out && git -C p ews guard status --json >out &&
	test_json out ".hooks[0].is_effective" true && test_json out ".hooks[0].next" null && cp p/.git/config kept && printf "[core]\n\thooksPath =\n" >>p/.git/config && git -C p ews guard status >out &&
	test_grep "not run here: core.hooksPath is empty" out && cp kept p/.git/config && git -C p ews guard uninstall >out && git -C p config --unset core.hooksPath &&
	git -C p ews guard install >out && git -C p commit -q --allow-empty -m full && test_grep "^ran .*/hooks/pre-commit" "$HOOKLOG" && rm p/.git/hooks/pre-commit &&
	git config --global core.hooksPath "" && >"$HOOKLOG" && git -C p commit -q --allow-empty -m users && test_must_be_empty "$HOOKLOG" && git config --global --unset core.hooksPath
'

test_expect_success 'P6: in a workspace commands that move refs or publish are stopped' '
	start_ws -n ws p one && git -C p for-each-ref >refs.before && echo edit >>"${ws:?}/run.sh" && git -C "${ws:?}" diff >edit.diff &&
	stopped "git commit (this is the workspace of session .one.)" git -C "${ws:?}" commit -qam x &&
	stopped "a change of refs" git -C "${ws:?}" commit -qnam x && for line in "stash" "branch b" "tag t" "checkout -q -b b" \
		"update-ref refs/heads/main HEAD~1" "reset -q --soft HEAD~1" "fetch -q up main:fetched" "update-ref -d refs/heads/main"; do
		stopped "a change of refs" git -C "${ws:?}" $line || { echo "$line" && return 1; }
	done && stopped "git push" git -C "${ws:?}" push -q up HEAD:refs/heads/pushed && git -C "${ws:?}" diff >out && test_cmp edit.diff out &&
	git -C p for-each-ref >refs.after && test_cmp refs.before refs.after && test_must_fail git -C up.git rev-parse -q --verify pushed &&
	git -C "${ws:?}" checkout -q run.sh && stopped "" git -C "${ws:?}" rebase HEAD~1 &&
	git -C "${ws:?}" log -1 --format=%s >out && git -C "${ws:?}" status --short >out && test_must_be_empty out
'

test_expect_success 'P6: what is ours passes, and the hook that was there hears of it whole' '
	hook p/.git/hooks/reference-transaction && >"$HOOKLOG" && head=$(git -C p rev-parse HEAD) &&
	git -C "${ws:?}" update-ref refs/ews/mine HEAD && test_grep "^0* $head refs/ews/mine$" "$HOOKLOG" &&
	printf "create refs/ews/two $head\ncreate refs/heads/two $head\n" >in && stopped "a change of refs" git -C "${ws:?}" update-ref --stdin <in &&
	git -C "${ws:?}" update-ref -d refs/ews/mine && rm p/.git/hooks/reference-transaction &&
	git -C p ews snapshot create one >out && git -C p ews revert -q one >out
'

test_expect_success 'P1: the person'\''s work in the project and in other work trees goes on, with sessions about' '
	(cd p && echo more >>run.sh && git commit -qam more && git checkout -q -b side HEAD~1 && git commit -q --allow-empty -m side &&
		git rebase -q main && git stash list && git checkout -q main && git merge -q side && git branch -q -D side && git fetch -q up &&
		git push -q -f up main && git worktree add -q ../own HEAD~1) &&
	(cd own && git commit -q --allow-empty -m own && git reset -q --hard HEAD~1) && git -C p worktree remove own && git -C p gc -q
'

test_expect_success 'the tripwire of a living session knows the config as it is now, and names what else was changed' '
	git -C p ews guard uninstall >out 2>err && test_must_be_empty err && git -C p ews status one >out && test_grep ! "config changed" out &&
	git -C p ews guard install >out 2>err && git -C p ews status one >out && test_grep ! "config changed" out &&
	git -C p config x.y z && git -C p ews guard uninstall >out && git -C p ews status one >out && test_grep "config changed" out &&
	git -C p ews guard install >out && git -C p ews status one >out && test_grep "config changed" out &&
	git -C p config --remove-section x && git -C p ews status one >out && test_grep ! "config changed" out
'

test_expect_success 'P6: in the project they are stopped while a session works in place, there alone' '
	git -C p ews end -q one && test_repo q && git -C q worktree add -q ../qown HEAD~1 && git -C q ews guard install >out &&
	git -C q commit -q --allow-empty -m before && git -C q ews start -q --method in-place here >out && (
		cd q && stopped "git commit (session .here. works in place here); use: git ews end here" git commit -q --allow-empty -m x &&
		stopped "a change of refs" git commit -qn --allow-empty -m x && stopped "a change of refs" git branch b && rm -f out err
	) && git -C qown commit -q --allow-empty -m elsewhere && git -C q ews end -q here && git -C q commit -q --allow-empty -m after
'

test_expect_success STRACE 'P6: where it can not be seen just now whether a session works there they are stopped, and say why' '
	test_repo blind && git -C blind ews guard install >out && git -C blind ews start -q --method in-place here >out && head=$(git -C blind rev-parse HEAD) && home=$HOME/.superqode && dir=${home:?}/working/blind &&
	for fault in "$home EMFILE" "$dir EIO" "${dir:?}/sessions EMFILE" "${dir:?}/sessions/here EMFILE" "${dir:?}/sessions/here EIO:when=2+" "$PWD/blind/.git/commondir EIO"; do
		(cd blind && test_must_fail test_strace ../trace -P "${fault% *}" -e trace=openat -e inject=openat:error="${fault##* }" "$EWS_BIN/git-ews" guard hook pre-commit >../out) && test_grep INJECTED trace && test_grep "blocked: git commit (cannot tell whether a session works here: .*); try again$" out || { echo >&2 "$fault"; return 1; }
	done && for path in "${dir:?}/sessions" "${dir:?}/sessions/here/state.json"; do
		test_must_fail test_strace trace -P "$path" -e trace=openat -e inject=openat:error=EMFILE git -C blind commit -q --allow-empty -m x 2>err && test_grep INJECTED trace && test_grep "blocked: git commit" err && test "$(git -C blind rev-parse HEAD)" = $head || { echo >&2 "$path"; return 1; }
	done && git -C blind ews end -q here && git -C blind commit -q --allow-empty -m after
'

test_expect_success 'P6: in place in a work tree that git moved: they are stopped there, by what is set there, and not where it was' '
	test_repo mv && git -C mv worktree add -q -b w ../mv-w && git -C mv ews guard install >out && git -C mv-w ews start -q --method in-place here >out && printf "qe:\n  git_guard:\n    block_commit: false\n" >mv-w/superqode.yaml && git -C mv-w ews config accept >out && git -C mv-w commit -q --allow-empty -m let && git -C mv worktree move ../mv-w ../mv-n && stopped "git commit (session .here. works in place here)" git -C mv-n commit -q --allow-empty -m x &&
	git -C mv worktree add -q -b other ../mv-w && cp mv-n/superqode.yaml mv-w/ && git -C mv-w commit -q --allow-empty -m elsewhere && stopped "git commit" git -C mv-n commit -q --allow-empty -m x && git -C mv-n ews config accept >out && git -C mv-n commit -q --allow-empty -m let &&
	git -C mv-n ews end -q here && git -C mv worktree add -q -b gone ../mv-g && git -C mv-g ews start -q --method in-place gone >out && rm -r mv-g && git -C mv worktree prune && sleep 1.1 && git -C mv worktree add -q -b anew ../mv-g && git -C mv-g commit -q --allow-empty -m anew && git -C mv ews end -q --force gone && git -C mv ews guard uninstall >out
'

test_expect_success 'P6: in place in a repository that was moved: they are stopped although its sessions have not followed yet' '
	git ews guard install --global >out && test_repo mine && git -C mine worktree add -q -b w ../mine-w && git -C mine ews start -q --method in-place here >out && git -C mine -c core.hooksPath=/dev/null pack-refs --all && mv mine mine-n && git -C mine-n worktree repair ../mine-w && stopped "git commit (session .here. works in place here)" git -C mine-n commit -q --allow-empty -m x && git -C mine-w commit -q --allow-empty -m elsewhere &&
	git clone -q mine-n mine-c && mv mine-n mine && mv mine away && git -C mine-c commit -q --allow-empty -m another && mv away mine && git -C mine ews end -q here && git -C mine commit -q --allow-empty -m after && git ews guard uninstall --global >out
'

test_expect_success 'P9: the settings hold for hooks as well, those of the user; a command line has no say' '
	start_ws -n ws q let && stopped "git commit" git -C "${ws:?}" -c ews.gitGuard.blockCommit=false commit -q --allow-empty -m x &&
	git -C q config ews.gitGuard.blockCommit false && stopped "git commit" git -C "${ws:?}" commit -q --allow-empty -m x &&
	git -C q config --unset ews.gitGuard.blockCommit && git config --global ews.gitGuard.blockCommit false &&
	git -C "${ws:?}" commit -q --allow-empty -m let && stopped "git push" git -C "${ws:?}" push -q "$PWD/up.git" HEAD:refs/heads/x &&
	git config --global ews.gitGuard.enabled false && git -C "${ws:?}" push -q "$PWD/up.git" HEAD:refs/heads/x &&
	git config --global --remove-section ews.gitGuard && git -C q ews end -q let
'

test_expect_success 'P1: uninstall leaves no trace, whatever was written meanwhile' '
	rm p/.git/hooks/pre-push p/.git/hooks/post-rewrite && git -C p ews guard uninstall >out 2>err && test_must_be_empty err &&
	echo "$PWD/p/.git/ews-hooks" >want && test_cmp want out && test_cmp config.before p/.git/config && test_path_is_missing p/.git/ews-hooks &&
	git -C p ews guard uninstall 2>err && test_grep "^note: no hooks" err &&
	printf "[a]\n\tb = c" >>p/.git/config && cp p/.git/config ragged && git -C p ews guard install >out && git -C p config --get a.b &&
	git -C p ews guard uninstall >out && test_cmp ragged p/.git/config && chmod 600 p/.git/config &&
	git -C p ews guard install >out && git -C p config d.e f && git -C p ews guard uninstall >out && test "$(stat -c %a p/.git/config)" = 600 &&
	git -C p config --remove-section d && test "$(git -C p config a.b)" = c && test_grep ! include p/.git/config && cp config.before p/.git/config
'

test_expect_success 'P1: a value that goes on at the end of the config is the same with them, and without' '
	printf "[a]\n\tb = c\\\\\n" >>p/.git/config && cp p/.git/config open && git -C p ews guard install >out && test "$(git -C p config a.b)" = c &&
	test_must_fail git -C p config a.path && git -C p ews guard status --json >out && test_json out ".hooks[0].is_effective" true &&
	git -C p ews guard uninstall >out && test_cmp open p/.git/config && cp config.before p/.git/config
'

test_expect_success 'P6: where the config of work trees names hooks, they hold in those that are made later, and leave each of them' '
	test_repo trees && hook trees/.husky/pre-commit && git -C trees config extensions.worktreeConfig true &&
	git -C trees config --worktree core.hooksPath .husky && cp trees/.git/config.worktree worktree.before && start_ws -n sooner trees sooner &&
	git -C trees ews guard install >out && start_ws -n later trees later && for ws in "$sooner" "$later"; do
		stopped "git commit" git -C "${ws:?}" commit -q --allow-empty -m x || return 1
	done && git -C trees worktree add -q ../own && test "$(git -C own config core.hooksPath)" = "$PWD/trees/.git/ews-hooks" &&
	sed -i "s,\"/.*/ews-hooks,\"ews-hooks," trees/.git/worktrees/own/config.worktree && git -C trees ews guard uninstall >out &&
	for tree in sooner later own; do test_cmp worktree.before trees/.git/worktrees/${tree:?}/config.worktree || return 1; done &&
	test_cmp worktree.before trees/.git/config.worktree && git -C trees worktree remove own && git -C trees ews end -q sooner && git -C trees ews end -q later
'

test_expect_success 'P1: a hook that somebody wrote into the directory of ours stays, and goes back with uninstall' '
	git -C p ews guard install >out && hook p/.git/ews-hooks/pre-push && git -C p ews guard install 2>err >out &&
	test_grep "^warning: .*/pre-push. is not ours" err && git -C p ews guard status >out && test_grep "not ours.* pre-push" out &&
	cp p/.git/ews-hooks/pre-push want && hook p/.git/hooks/pre-push && echo "# other" >>p/.git/hooks/pre-push &&
	test_expect_code 128 git -C p ews guard uninstall 2>err && test_grep "pre-push" err && rm p/.git/hooks/pre-push &&
	git -C p ews guard uninstall >out && test_cmp want p/.git/hooks/pre-push && rm p/.git/hooks/pre-push && test_cmp config.before p/.git/config
'

test_expect_success 'P1: so does a hook of ours that somebody has added to, until he moves it away; those of former versions are still ours' '
	test_repo added && dir=added/.git/ews-hooks && ours() { git -C added ews --home "$PWD/it'\''s
home" guard "$@" >out 2>err; } && ours install && cp -r ${dir:?} whole && for name in post-commit pre-push reference-transaction; do as_before ${dir:?}/$name && ! cmp whole/$name ${dir:?}/$name || return 1; done &&
	ours install && test_grep ! "not ours" err && diff -r whole ${dir:?} && for former in "" t; do
		for edit in "\$ a echo added" "5 i echo added" "/^exec/ s/^/echo added; /" "/^name=/ s/$/x/"; do
			for name in post-commit pre-push; do
				{ test -z "$former" || as_before ${dir:?}/$name; } && sed -i "$edit" ${dir:?}/$name && cp ${dir:?}/$name want && ours install && test_grep "/$name. is not ours" err && ours status && test_grep "not ours.* $name" out &&
					test_expect_code 128 ours uninstall && test_grep "changed our hook .*/$name" err && test_cmp want ${dir:?}/$name && ours status && test_grep "^repository: installed" out && rm ${dir:?}/$name && ours install && test_grep ! "not ours" err || return 1
			done
		done
	done && for name in post-commit pre-push; do as_before ${dir:?}/$name || return 1; done && ours uninstall && test_path_is_missing ${dir:?} && test_path_is_missing added/.git/hooks/post-commit && test_path_is_missing added/.git/hooks/pre-push
'

test_expect_success 'git'\''s own answer to a push into a checked out branch stays, until there is a hook for it' '
	git clone -q p target && git -C target config receive.denyCurrentBranch updateInstead && git -C target ews guard install >out &&
	git -C p commit -q --allow-empty -m pushed && echo new >p/pushed && git -C p add pushed && git -C p commit -qm pushed &&
	git -C p push -q "$PWD/target" main && test_path_is_file target/pushed &&
	hook target/.git/hooks/push-to-checkout && git -C target ews guard install >out && >"$HOOKLOG" && git -C p commit -q --allow-empty -m more &&
	git -C p push -q "$PWD/target" main && test_grep "push-to-checkout" "$HOOKLOG"
'

test_expect_success 'P1: a repository that was moved, and one without git-ews, have their own hooks' '
	mv target moved && hook moved/.git/hooks/pre-commit && >"$HOOKLOG" && git -C moved commit -q --allow-empty -m moved &&
	test_grep "^ran .*hooks/pre-commit" "$HOOKLOG" && git -C moved ews guard status --json >out && test_json out ".hooks[0].is_effective" false &&
	git -C moved ews guard install >out && git -C moved ews guard status --json >out && test_json out ".hooks[0].is_effective" true &&
	test "$(grep -c ews-hooks moved/.git/config)" = 2 && mkdir prog && cp "$(command -v git-ews || echo "$EWS_BIN/git-ews")" prog/git-ews &&
	git -C moved ews guard uninstall >out && (cd moved && ../prog/git-ews guard install >out && rm out) && rm -r prog &&
	start_ws -n ws moved gone && >"$HOOKLOG" && stopped "git commit" git -C "${ws:?}" commit -q --allow-empty -m x &&
	(mkdir only && ln -s "$(command -v git)" "$(command -v sh)" only/ && PATH=$PWD/only && cd moved && git commit -q --allow-empty -m without) &&
	test_grep "^ran .*hooks/pre-commit" "$HOOKLOG" && git -C moved ews end -q gone
'

test_expect_success 'SHA-256, bare repositories and linked work trees, with configs of their own' '
	git init -q --object-format=sha256 "s h" && git -C "s h" commit -q --allow-empty -m one && git -C "s h" ews guard install >out &&
	start_ws -n ws "s h" two && stopped "git commit" git -C "${ws:?}" commit -q --allow-empty -m x && git -C "s h" commit -q --allow-empty -m y &&
	git -C "s h" ews end -q two && git clone -q --bare p bare.git && cp bare.git/config bare.before && git -C bare.git ews guard install >out &&
	hook bare.git/hooks/update && >"$HOOKLOG" && git -C p push -q "$PWD/bare.git" main:refs/heads/new && test_grep "^ran .*hooks/update refs/heads/new" "$HOOKLOG" &&
	git -C bare.git ews guard uninstall >out && test_cmp bare.before bare.git/config &&
	git -C q ews guard uninstall >out && git -C q config extensions.worktreeConfig true && git -C qown config --worktree core.hooksPath .mine && hook qown/.mine/pre-commit &&
	cp q/.git/worktrees/qown/config.worktree own.before && cp q/.git/config q.before && git -C qown ews guard install >out 2>err && test_grep ! warning err &&
	git -C qown ews guard status --json >out && test_json out ".hooks[0].is_effective" true && test_json_count out ".hooks[0].config_files" 2 &&
	>"$HOOKLOG" && git -C qown commit -q --allow-empty -m own && test_grep "^ran .mine/pre-commit" "$HOOKLOG" &&
	git -C q ews start -q --method in-place inq >out && stopped "git commit" git -C q commit -q --allow-empty -m x && git -C q ews end -q inq &&
	git -C q ews guard uninstall >out && test_cmp own.before q/.git/worktrees/qown/config.worktree && test_cmp q.before q/.git/config
'

test_expect_success '--global: in all repositories, before the hooks of each; also in an independent copy' '
	cp home/.gitconfig user.before && (cd home && git ews guard install --global >../out) && echo "$PWD/home/.superqode/hooks" >want && test_cmp want out &&
	hook p/.git/hooks/pre-commit && >"$HOOKLOG" && git -C p commit -q --allow-empty -m global && test_grep "^ran .git/hooks/pre-commit" "$HOOKLOG" &&
	start_ws -n ws p copy --method snapshot && stopped "git commit" git -C "${ws:?}" commit -q --allow-empty -m x &&
	git init -q "${ws:?}/inner" && git -C "${ws:?}/inner" commit -q --allow-empty -m inner && git -C p ews guard install >out && >"$HOOKLOG" &&
	git -C p commit -q --allow-empty -m both && test_line_count = 1 "$HOOKLOG" && git config --global ews.guard.policy inside &&
	git -C "${ws:?}" commit -q --allow-empty -m inside && stopped "git push" git -C "${ws:?}" push -q "$PWD/up.git" HEAD:refs/heads/y &&
	git config --global --remove-section ews.guard && git -C p ews end -q copy 2>err && git -C p ews guard uninstall >out &&
	git clone -q p cloned && git -C cloned config core.hooksPath .h && git -C cloned ews guard status >out &&
	test_grep "^user: installed" out && test_grep "not run here: git takes those of .*/cloned/.h$" out &&
	git -C p ews guard uninstall >out && test_cmp want out && test_cmp user.before home/.gitconfig && test_path_is_missing home/.superqode/hooks
'

test_expect_success 'outside of a repository status has the same keys: what nobody can say there is null' '
	mkdir -p nowhere && (cd nowhere && git ews guard status --json) >out && test_json_count out .hooks 1 && test_json out ".hooks[0].scope" user &&
	test_json out ".hooks[0].is_effective" null && test_json out ".hooks[0].next" null
'

test_expect_success '--global writes the file that git config --global writes' '
	mkdir other && (HOME=$PWD/other && export HOME && git ews guard install --global >out && test_path_is_file other/.gitconfig &&
		git ews guard uninstall --global && test_path_is_missing other/.gitconfig && mkdir -p other/.config/git &&
		>other/.config/git/config && git ews guard install --global && test -s other/.config/git/config && test_path_is_missing other/.gitconfig &&
		git ews guard uninstall --global && test_path_is_file other/.config/git/config && test_must_be_empty other/.config/git/config &&
		printf "[a]\n\tb = c\n" >other/dot && cp other/dot dot.before && ln -s dot other/.gitconfig && git ews guard install --global &&
		test_path_is_link other/.gitconfig dot && test_grep hooks/config other/dot && git ews guard uninstall --global && test_cmp dot.before other/dot) &&
	GIT_CONFIG_GLOBAL=/dev/null test_expect_code 128 git ews guard install --global 2>err && test_grep "/dev/null" err &&
	test -c /dev/null && test_path_is_missing home/.superqode/hooks
'

test_expect_success 'a home whose path has a newline is named in a way that git reads' '
	test_repo lines && (SUPERQODE_HOME="$PWD/lines.d/a
b" && export SUPERQODE_HOME && git ews guard install --global >out && test "$(git -C lines config core.hooksPath)" = "$SUPERQODE_HOME/hooks" && git -C lines commit -q --allow-empty -m free && git -C lines ews start -q s &&
		ws=$(git -C lines ews path s) && test_must_fail git -C "${ws:?}" commit -q --allow-empty -m stopped 2>err && test_grep "git ews" err && git -C lines ews end -q s && git ews guard uninstall --global && test_path_is_missing "${SUPERQODE_HOME:?}/hooks") && test_must_fail git -C lines config core.hooksPath
'

test_expect_success 'refused: from a workspace, where git is not, and while git writes the config' '
	start_ws -n ws p deny && (cd "${ws:?}" && for line in "install" "uninstall" "install --global"; do
		test_expect_code 128 git ews guard $line >../out 2>../err && test_grep "workspace of session .deny." ../err || return 1
	done && rm ../out ../err) && git -C p ews end -q deny && mkdir plain && echo x >plain/x && (cd plain && git ews start -q pl >../out) &&
	test_expect_code 128 git -C plain ews guard install 2>err && test_grep "no git repository" err && git -C plain ews end -q pl &&
	cp p/.git/config before && >p/.git/config.lock && test_expect_code 1 git -C p ews guard install 2>err && test_grep "config.lock" err &&
	test_cmp before p/.git/config && rm p/.git/config.lock && git -C p ews guard uninstall 2>err && test_path_is_missing p/.git/ews-hooks &&
	test_expect_code 129 git -C p ews guard && test_expect_code 129 git -C p ews guard nosuch && test_expect_code 129 git -C p ews guard install x
'

test_expect_success 'P5: a link in the place of what is ours leads nobody elsewhere' '
	mkdir -p away && echo "[a]" >cfg && echo "[a]" >want && ln -s "$PWD/away" p/.git/ews-hooks && test_expect_code 128 git -C p ews guard install &&
	git -C p ews guard uninstall && test_path_is_missing p/.git/ews-hooks && test "$(ls away | wc -l)" = 0 &&
	mv p/.git/config real && ln -s "$PWD/real" p/.git/config && cp real want && test_expect_code 128 git -C p ews guard install 2>err &&
	test_grep "is no file" err && test_cmp want real && rm p/.git/config && mv real p/.git/config && git -C p ews guard uninstall
'

test_expect_success 'what was on its way when an install was killed is nobody'\''s hook, and recover takes it away' '
	test_repo litter && git -C litter ews guard install && mkdir -p "$HOME/.superqode/hooks" "$HOME/.superqode/accepted" "$HOME/.superqode/elsewhere" && half=.tmp-0123456789abcdef &&
	for dir in litter/.git/ews-hooks "$HOME/.superqode/hooks" "$HOME/.superqode/accepted" "$HOME/.superqode/elsewhere"; do echo half >"${dir:?}/$half" && touch -d "1 hour ago" "${dir:?}/$half" && echo "${dir:?}/$half" || return 1; done >halves &&
	git -C litter ews guard install 2>err && test_grep ! "not ours" err && git -C litter ews recover && while read -r file; do test_path_is_missing "$file" || return 1; done <halves &&
	test_path_is_file litter/.git/ews-hooks/pre-push && git -C litter ews guard uninstall
'

test_expect_success STRACE 'P1: who interrupts an install, or its undoing, does not leave the config locked' '
	test_repo int && for signal in INT TERM HUP; do
		for verb in install uninstall; do
			code=0 && { test_strace trace -P "$PWD/int/.git/config.lock" -e trace=fsync -e inject=fsync:signal=$signal git -C int ews guard $verb >out 2>err || code=$?; } && test_grep "SIG$signal" trace && test $code -gt 128 && test_path_is_missing int/.git/config.lock && git -C int config test.x $signal && git -C int ews guard $verb || return 1
		done
	done
'

test_expect_success STRACE 'P1: a script of ours that can not be read just now is not taken for somebody else'\''s' '
	test_repo unread && git -C unread ews guard install && for error in EMFILE EIO; do
		test_expect_code 128 test_strace trace -P post-commit -e trace=openat -e inject=openat:error=$error git -C unread ews guard uninstall 2>err && test_grep INJECTED trace && test_grep "^error: .*post-commit" err && test_path_is_missing unread/.git/hooks/post-commit && test_path_is_file unread/.git/ews-hooks/post-commit &&
			test_expect_code 128 test_strace trace -P pre-push -e trace=openat -e inject=openat:error=$error git -C unread ews guard install 2>err && test_grep INJECTED trace || return 1
	done && git -C unread ews guard uninstall && test_path_is_missing unread/.git/ews-hooks && timeout 20 git -C unread commit -q --allow-empty -m after
'

test_expect_success 'an install anew mends a script of ours that git would pass by; status and doctor name it' '
	chmod go-rwx home/.superqode/* && for scope in "" --global; do
		git -C unread ews guard install $scope >dir && dir=$(cat dir) && git -C unread ews doctor && git -C unread ews guard status >out && test_grep ! "be executed" out && chmod -x "${dir:?}/pre-push" &&
			git -C unread ews guard status >out && test_grep "be executed, .git ews guard install${scope:+ $scope}. mends that: pre-push$" out && git -C unread ews guard status --json >out && test_grep "\"not_executable\":\[\"pre-push\"\]" out &&
			test_expect_code 1 git -C unread ews doctor >out && test_grep "hooks/pre-push. can.t be executed: git passes it by" out && test_grep "do: chmod +x .*hooks/pre-push" out &&
			git -C unread ews guard install $scope && test -x "${dir:?}/pre-push" && git -C unread ews doctor && git -C unread ews guard uninstall $scope || return 1
	done
'

test_expect_success 'P1: a copy of a hook of ours, or a link to it, that stands where git has its own does not run itself for ever' '
	test_repo copies && git ews guard install --global && cp home/.superqode/hooks/pre-commit copies/.git/hooks/ && timeout 20 git -C copies commit -q --allow-empty -m global &&
	git ews guard uninstall --global && timeout 20 git -C copies commit -q --allow-empty -m alone && git -C copies ews guard install && for how in cp "cp -l" "ln -fs"; do
		for name in pre-commit reference-transaction; do $how "$PWD/copies/.git/ews-hooks/$name" copies/.git/hooks/ || return 1; done && timeout 20 git -C copies commit -q --allow-empty -m "$how" && rm copies/.git/hooks/reference-transaction copies/.git/hooks/pre-commit || return 1
	done && mkdir copies/.husky && cp copies/.git/ews-hooks/pre-commit copies/.husky/ && git -C copies config core.hooksPath .husky && timeout 20 git -C copies commit -q --allow-empty -m husky && git -C copies ews guard uninstall && timeout 20 git -C copies commit -q --allow-empty -m left
'

test_expect_success 'paths that are not UTF-8 stand whole beside what they are shown as' '
	bad=$(printf "b\377d") && git init -q "$bad" && git -C "$bad" ews guard install --json >out && test_json out ".config_files_bytes[0]" "$(printf %s "$PWD/${bad:?}/.git/config" | base64 -w0)" && git -C "$bad" ews guard status --json >out && test_json out ".hooks[0].config_files_bytes[0]" && git -C "$bad" ews guard uninstall
'

test_done
