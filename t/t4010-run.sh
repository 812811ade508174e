#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='run: the life of a session in one line (P1, P4, P5, P6)'

. "$(dirname "$0")/test-lib.sh"

patches=.superqode/qe-artifacts/patches

# run_in <project> <argument>...: git ews run there; what it says in out and err
run_in() {
	ews_project=$1
	shift
	git -C "$ews_project" ews run "$@" >out 2>err
}

# owner_of <project> <session>: the process that runs a command in it
owner_of() {
	git -C "$1" ews status --json "$2" >status.json && json status.json ".sessions[0].owner.pid"
}

# behind <project> <session> <script>: run that in a new session, in the background, where a shell ignores some signals
behind() {
	env --default-signal=INT,QUIT git -C "$1" ews run --new="$2" -- sh -c "$3" >"$2.out" 2>"$2.err" 3>&- 4>&- 5>&- &
	pid=$!
}

test_expect_success 'P1: a session is made, the command runs, the patch is stored, the session ends' '
	test_repo p && test_fingerprint p >before &&
	run_in p -- sh -c "echo edit >>src/main.c && echo new >new && rm run.sh && echo said" && test_cmp - out <<-\EOT &&
	said
	EOT
	test_fingerprint p >after && test_cmp before after && test_grep "^Changes: 3 file(s) (+2 -[0-9]*)\.$" err &&
	test "$(git -C p ews list | wc -l)" = 0 && git -C p ews list --ended >list && test_line_count = 1 list && test_grep " ended " list &&
	id=$(sed "s/ .*//" list) && test_path_is_file p/${patches:?}/$id.patch && test "$(cat p/.superqode/.gitignore)" = "*" &&
	git -C p status --porcelain >st && test_must_be_empty st &&
	git clone -q p twin && git -C twin apply "$PWD/p/${patches:?}/$id.patch" && git -C twin status --porcelain >st && test_line_count = 3 st
'

test_expect_success 'P4: what it did is kept: undo brings the workspace back' '
	git -C p ews undo && git -C p ews path >path && take_ws path && test_path_is_file "${ws:?}/new" && git -C p ews end
'

test_expect_success 'without a change there is no patch' '
	run_in p -- true && test_must_be_empty out && test_grep "^Changes: 0 file(s) (+0 -0)\.$" err && ls p/$patches >list && test_line_count = 1 list
'

test_expect_success 'the status is that of the command, and a failure keeps the session' '
	test_expect_code 3 run_in p --new=three -- sh -c "echo x >x; exit 3" && test_grep "is kept: .*/three$" err &&
	test_expect_code 137 run_in p --new=killed -- sh -c "kill -9 \$\$" &&
	git -C p ews list >list && test_line_count = 2 list && git -C p ews diff three >diff && test_path_is_file p/${patches:?}/three.patch &&
	test_cmp diff p/${patches:?}/three.patch && git -C p ews end three killed
'

test_expect_success 'what can not be started: 127 and 126, and nothing is left' '
	test_expect_code 127 run_in p -- no-such-program && test_grep "^error: cannot run .no-such-program.: no such program$" err &&
	test_grep "^hint: " err && test_expect_code 127 run_in p -- ./no-such-program && test_grep "no-such-program.: no such program" err &&
	test_expect_code 126 run_in p -- src/main.c && test_grep "Permission denied" err && test_expect_code 126 run_in p -- ./src &&
	git -C p ews list >list && test_must_be_empty list
'

test_expect_success 'what can not be started in a session that is there leaves it as it was' '
	start_ws p there &&
	for program in no-such-program ./no-such-program src/main.c ./src; do
		run_in p there -- $program && return 1
		test "$(git -C p ews list --format "%(state)%(owner)")" = active || { echo "$program" && return 1; }
	done &&
	run_in p there -- true && git -C p ews end there
'

test_expect_success 'what the command needs and is not to be had: nothing is left, and a session that is there stays as it was' '
	test_repo needy && echo edit >>needy/src/main.c && mkdir alone "co:lon" && ln -s "$EWS_BIN/git-ews" alone/git-ews && test_fingerprint needy >before &&
	for method in worktree snapshot in-place; do
		for line in "run --method $method -- true" "run --method $method --json -- true" "shell --method $method"; do
			test_expect_code 125 env SUPERQODE_HOME="$PWD/co:lon" git -C needy ews $line >out 2>err && cat out err >said && test_grep "without a colon" said || return 1
		done
	done && SUPERQODE_HOME="$PWD/co:lon" git -C needy ews list >list && test_must_be_empty list &&
	for line in "run --method worktree -- /bin/true" "run --method in-place --json -- /bin/true" "shell --method in-place"; do
		test_expect_code 125 env PATH="$PWD/alone" git-ews -C needy $line >out 2>err && cat out err >said && test_grep "cannot run .git.: no such program" said || return 1
	done && git -C needy ews list >list && test_must_be_empty list && test_fingerprint needy >after && test_cmp before after &&
	SUPERQODE_HOME="$PWD/co:lon" git -C needy ews start there && test_expect_code 125 env SUPERQODE_HOME="$PWD/co:lon" git -C needy ews run there -- true &&
	test_expect_code 125 env SUPERQODE_HOME="$PWD/co:lon" git -C needy ews run --new=kept --keep -- true &&
	SUPERQODE_HOME="$PWD/co:lon" git -C needy ews list --format "%(session_id) %(state)%(owner)" >list && sort list >said && printf "%s active\n" kept there >want && test_cmp want said &&
	SUPERQODE_HOME="$PWD/co:lon" git -C needy ews end kept there
'

test_expect_success STRACE 'P4: a command that is lost sight of may have done something: its session stays' '
	test_expect_code 125 test_strace trace -qq -e trace=poll,ppoll -e inject=poll,ppoll:error=ENOMEM git-ews -C p run --new=lost --log -- sh -c "echo work >work && echo said" 2>err &&
	test_grep "cannot wait for the command" err && test_grep "is kept: .*/lost$" err && git -C p ews diff --name-only lost >lost.names && says work lost.names &&
	test "$(git -C p ews list --format "%(state)%(owner)")" = active && test_path_is_file p/.superqode/qe-artifacts/logs/lost.log && git -C p ews end lost
'

test_expect_success 'the program is looked for where the command will have its PATH' '
	mkdir tools && printf "#!/bin/sh\necho tool\n" >tools/only-there && chmod +x tools/only-there && run_in p --env PATH="$PWD/tools:$PATH" -- only-there && echo tool >want && test_cmp want out &&
	test_expect_code 127 run_in p --env PATH="$PWD/tools" -- env && test_grep "no such program" err && git -C p ews list >list && test_must_be_empty list
'

test_expect_success 'our own failures: 125' '
	test_expect_code 125 git ews -C nowhere run -- true 2>err && test_grep "^error: cannot change to .nowhere.: " err && test_expect_code 128 git ews -C nowhere list 2>err &&
	for line in "" "-- " "--nosuch -- true" "--keep --end -- true" "--guard=x -- true" "--policy=x -- true" "--env x -- true" \
		"--changes=x -- true" "--timeout=x -- true" "nosuch -- true" "--new=a/b -- true" "--base nosuch -- true" "--guard=strict -- true" \
		"--method overlay -- true" "--policy=inside --method worktree -- true" "--policy=inside -- true"; do
		test_expect_code 125 run_in p $line && test_must_be_empty out && test_line_count = 2 err && test_grep "^error: " err &&
		test_grep "^hint: " err || { echo "run $line" && return 1; }
	done &&
	test_expect_code 125 run_in p --json --guard=strict -- true && test_must_be_empty err && test_json out .error.code unsupported &&
	test_expect_code 128 git -C p ews start --method overlay --json >out && test_json out .error.code unsupported &&
	(cd / && test_expect_code 126 git ews run -- true) 2>err && git -C p ews list >list && test_must_be_empty list
'

test_expect_success '--keep and --end, and the settings' '
	run_in p --keep --new=kept -- true && test_expect_code 1 run_in p --end -- false && git -C p ews list >list && test_line_count = 1 list &&
	test_grep "^kept " list && test_expect_code 1 run_in p kept --end -- false && git -C p ews list >list && test_must_be_empty list &&
	test_expect_code 1 git -C p -c ews.workspace.cleanupOnFailure=true ews run -- false &&
	git -C p -c ews.workspace.cleanupOnSuccess=false ews run --new=kept -- true && git -C p ews list >list && test_line_count = 1 list &&
	git -C p ews end kept && git -C p -c ews.workspace.preserveArtifacts=false ews run --new=gone -- sh -c "echo >gone" &&
	test_path_is_missing p/${patches:?}/gone.patch
'

test_expect_success 'a session that was there is not ended, and each run takes a snapshot' '
	start_ws p there && run_in p there -- sh -c "echo 1 >n" && run_in p there -- sh -c "cat n; echo 2 >>n" && test "$(cat out)" = 1 &&
	run_in p there -- true && git -C p ews snapshot list there --json >snaps && test_json_count snaps .snapshots 3 &&
	git -C p ews list >list && test_line_count = 1 list && test_expect_code 125 run_in p there --intent x -- true && git -C p ews end there
'

test_expect_success 'the environment' '
	(cd p/src && GIT_DIR=$PWD/../.git GIT_WORK_TREE=$PWD/.. GIT_INDEX_FILE=/nonexistent FOO=caller \
		git ews run --new=env --env BAR="a b" --env FOO= --keep -- env) >out &&
	git -C p ews status --json env >status && ws=$(json status ".sessions[0].path") &&
	for line in EWS_SESSION=env "EWS_WORKSPACE=$ws" "EWS_BASE=$(json status ".sessions[0].snapshot_id")" "EWS_PROJECT=$PWD/p" \
		EWS_BRANCH=main "BAR=a b" FOO= "PWD=${ws:?}/src" "EWS_PORT_BASE=$(json status ".sessions[0].port_base")"; do
		test_grep -Fx "$line" out || return 1
	done && test_grep ! "^GIT_DIR\|^GIT_WORK_TREE\|^GIT_INDEX_FILE\|^OLDPWD" out && tmp=$(sed -n "s/^TMPDIR=//p" out) &&
	case $tmp in "$HOME"/*) ;; *) false ;; esac && test_path_is_missing "$tmp" &&
	run_in p env -- sh -c "ls -ld \"\$TMPDIR\"; mktemp; chmod 0 \"\$TMPDIR\"" && test_grep "^drwx------ " out && test_path_is_missing "$tmp" &&
	git -C p checkout -q --detach && run_in p -- sh -c "echo \"=\$EWS_BRANCH=\"" && test "$(cat out)" = "==" && git -C p checkout -q main
'

test_expect_success 'each living session has ports of its own' '
	run_in p --keep --new=two -- sh -c "echo \$EWS_PORT_BASE" && two=$(cat out) && run_in p env -- sh -c "echo \$EWS_PORT_BASE" &&
	one=$(cat out) && test "$one" != "$two" && test $((one % 100 + two % 100)) = 0 && test_repo q && run_in q -- sh -c "echo \$EWS_PORT_BASE" &&
	test "$(cat out)" != "$one" && test "$(cat out)" != "$two" && git -C p ews end env && run_in q -- sh -c "echo \$EWS_PORT_BASE" &&
	test "$(cat out)" = "$one" && git -C p ews end two
'

test_expect_success 'P8: likewise where another one cannot be looked at just now' '
	test_repo seen && run_in seen --keep --new=seen -- sh -c "echo \$EWS_PORT_BASE" && seen=$(cat out) && look=0 && while test_more_looks; do
		test_look EIO "/sessions/seen(/state.json)?$" -C seen run -- sh -c "echo \$EWS_PORT_BASE" >out 2>err && test "$(cat out)" != "$seen" || return 1
	done && test $look -gt 2 && git -C seen ews end seen
'

test_expect_success 'it runs where the caller stands' '
	(cd p/src && git ews run --keep --new=sub -- pwd) >out && git -C p ews path sub >path && take_ws path &&
	test "$(cat out)" = "${ws:?}/src" && (cd "${ws:?}/src" && git ews run sub -- pwd) >out && test "$(cat out)" = "${ws:?}/src" &&
	(cd "${ws:?}/src" && git ews run -- pwd) >out && test "$(cat out)" != "${ws:?}/src" && test_grep "/qe-[^/]*/src$" out &&
	rm -r "${ws:?}/src" && ln -s / "${ws:?}/src" && (cd p/src && git ews run sub -- pwd) >out 2>err && test "$(cat out)" = "$ws" &&
	test_grep "^note: .src. is not in the workspace" err && git -C p ews end sub
'

test_expect_success 'in a pipe input, output and errors are what they are' '
	echo in | git -C p ews run --changes=none -q -- sh -c "cat; echo err >&2" >out 2>err && test "$(cat out)" = in && test "$(cat err)" = err
'

test_expect_success '--json: the object alone on stdout' '
	test_expect_code 4 run_in p --json --changes=diff --new=js -- sh -c "echo said; echo x >>src/main.c; exit 4" && test "$(cat err)" = said &&
	test_json out .schema ews.run/1 && test_json out .session_id js && test_json out .status 4 && test_json out .changes.total_changes 1 &&
	test_json out .changes.modifications 1 && test_json out .patch "$PWD/p/${patches:?}/js.patch" && test_json_count out .blocked 0 &&
	test_json out .guard.level auto && test_json out .guard.policy read-only && test_json out .guard.enforced && test_json out .project_changed false &&
	test_json_count out .left_behind 0 && test_json out .ended false && json out .snapshot_id | grep "^snap-" &&
	json out .changes.diff_text >text && test_grep "^+x$" text && test_json out ".changes.changes[0].file_path" src/main.c &&
	run_in p js --json --end -- true && test_json out .ended true && test_json out .status 0 && test_json_missing out ".changes.changes"
'

test_expect_success '--changes' '
	set -- sh -c "echo x >>src/main.c; mv run.sh ran.sh; echo n >n; rm docs/crlf.txt" &&
	run_in p --changes=files -- "$@" && sed -n "/^[C-]/p" err >got && test_cmp - got <<-\EOT &&
	Changes: 4 file(s) (+2 -2).
	- D  docs/crlf.txt (+0 -2)
	- A  n (+1 -0)
	- R  run.sh -> ran.sh (+0 -0)
	- M  src/main.c (+1 -0)
	EOT
	run_in p --changes=diff -- "$@" && test_grep "^rename to ran.sh$" err && run_in p --changes=none -- "$@" && test_grep ! "^Changes" err
'

# git_diffs <n> <patch>: a command of the session g that changes nothing has that patch, and git is asked so often what differs
git_diffs() {
	test_strace trace -e trace=execve "$EWS_BIN/git-ews" -C unmoved run --json g -- true >json 2>err && test_json json .patch "$PWD/unmoved/${patches:?}/$2" && grep "execve.*\"diff\"" trace >diffs
	test "$(wc -l <diffs)" -eq "$1"
}

test_expect_success STRACE 'where nothing changed since the last command the patch is not made again: it is there as it was stored, or made anew' '
	test_repo unmoved && start_ws unmoved g && echo 1 >"${ws:?}/new" && git -C unmoved ews run g -- true 2>err && cp unmoved/${patches:?}/g.patch first && git_diffs 0 g.patch && test_cmp first unmoved/${patches:?}/g.patch &&
	git -C unmoved ews run g -- sh -c "echo 2 >new" 2>err && test_grep "^+2\$" unmoved/${patches:?}/g.patch && git_diffs 0 g.patch && rm unmoved/${patches:?}/g.patch && git_diffs 0 g.patch && test_grep "^+2\$" unmoved/${patches:?}/g.patch &&
	id=$(git -C unmoved ews artifact list --session g --type patch | sed "s/ .*//") && git -C unmoved ews artifact remove "${id:?}" && git_diffs 1 g-2.patch && test_grep "^+2\$" unmoved/${patches:?}/g-2.patch && git_diffs 0 g-2.patch &&
	echo of a person >>unmoved/${patches:?}/g-2.patch && git_diffs 1 g-3.patch && test_grep "of a person" unmoved/${patches:?}/g-2.patch && test_grep ! "of a person" unmoved/${patches:?}/g-3.patch
'

test_expect_success 'where the patch has no place the session stays, and what helps is said' '
	test_repo closed && echo file >closed/.superqode && test_expect_code 125 run_in closed --new=one -- sh -c "echo b >b" && test_grep "^error: cannot store the patch: " err && test_grep "^hint: qe.artifacts.location .*--no-artifacts" err &&
	git -C closed ews path one && git -C closed -c ews.artifacts.location="$PWD/arts" ews end one && test_path_is_file arts/patches/one.patch
'

test_expect_success 'P1: where a fix has no place it waits, and the work of the command stays' '
	test_repo barred && echo file >barred/.superqode && test_expect_code 125 run_in barred -- sh -c "echo b >b && echo more >>src/main.c && git diff >p && git ews report finding add --severity info --title told --fix p" &&
	test_grep "^warning: the findings wait to be taken over: cannot keep the artifact" err && id=$(git -C barred ews list | sed "s/ .*//") && test_grep "^note: session .$id. is kept: " err &&
	ws=$(git -C barred ews path $id) && test_path_is_file "${ws:?}/b" && git -C barred ews report finding list >list && test_line_count = 1 list && test_grep "  told$" list &&
	test_expect_code 125 run_in barred $id -- true && test_grep "^error: cannot keep the artifact" err && git -C barred ews report finding list >got && test_cmp list got &&
	rm barred/.superqode && run_in barred $id -- true && test_grep ! "^warning" err && git -C barred ews report finding list >got && test_cmp list got && git -C barred ews suggestions list >out && test_grep "finding-.*  told$" out
'

test_expect_success 'P1: what fails once the command has run is 125, and the session stays' '
	test_repo spoilt && records=$HOME/.superqode/working/spoilt/sessions/one && test_expect_code 125 run_in spoilt --guard off --new=one -- sh -c "echo w >w && rm -f \"\$1\" && mkdir \"\$1\"" sh "${records:?}/log" &&
	test_grep "^error: cannot append to .log." err && test_grep "^note: session .one. is kept: " err && ws=$(git -C spoilt ews path one) && test_path_is_file "${ws:?}/w" && rmdir "${records:?}/log" && git -C spoilt ews end one
'

test_expect_success '--timeout: TERM to the group, then KILL; 124' '
	test_expect_code 124 run_in p --timeout 1 --end -- sh -c "sleep 60" && git -C p ews list >list && test_must_be_empty list &&
	test_expect_code 124 run_in p --timeout 1 --end --json -- sh -c "trap \"\" TERM; while :; do sleep 60; done" && test_json out .timed_out true &&
	test_json_count out .left_behind 0 && test_expect_code 124 run_in p --timeout 0.2 --end -- sleep 60 && test_grep "^warning: .* time ran out" err && run_in p --timeout 0 --end -- true &&
	for bad in "" . 1s 1.2.3 -1 1e3 99999999999; do test_expect_code 125 git -C p ews run --timeout="$bad" -- true 2>err && test_grep "^hint: seconds, as in" err || return 1; done
'

test_expect_success '--timeout: a command that has left its process group' '
	test_expect_code 124 timeout -s KILL 20 git -C p ews run --timeout 1 --end --json -- perl -e "setpgrp(0, getpgrp(getppid())) && exec(\"sleep\", 60)" >out 2>err && test_json out .timed_out true && test_json_count out .left_behind 0
'

test_expect_success '--timeout: a command that stops itself stops nobody else' '
	test_expect_code 124 timeout -s KILL 20 setsid -w sh -c "timeout 15 git -C p ews run --timeout 1 --end -- sh -c \"kill -STOP \\\$\\\$\"; exit \$?" 2>err &&
	git -C p ews list >list && test_must_be_empty list
'

test_expect_success 'signals are passed on, and the run goes to its end' '
	for sig in INT TERM HUP QUIT USR1 USR2; do
		behind p sig "trap \"echo $sig >got; exit 9\" $sig; echo x >ready; while :; do sleep 0.02; done" &&
		test_wait_for 20 grep -q x "$HOME/.superqode/working/p/qe/sig/ready" && kill -$sig "$(owner_of p sig)" &&
		test_expect_code 9 wait $pid && test_grep "^Changes: 2 file(s)" sig.err && git -C p ews diff sig >diff && test_grep "^+$sig$" diff &&
		git -C p ews end sig || return 1
	done
'

test_expect_success 'P4: a run that is killed leaves its session interrupted, with all that is in it' '
	behind p dead "echo kept >kept; echo \$\$ >ready; exec sleep 60" &&
	test_wait_for 20 test -s "$HOME/.superqode/working/p/qe/dead/ready" && owner=$(owner_of p dead) && command=$(cat "$HOME/.superqode/working/p/qe/dead/ready") &&
	test_when_finished "kill -9 $command || :" && test_json status.json ".sessions[0].state" active && json status.json ".sessions[0].owner.boot_id" &&
	test_expect_code 1 git -C p ews end dead 2>err && test_grep "a command runs in session .dead." err && test_expect_code 125 run_in p dead -- true &&
	test_grep "^error: session .dead. is at work" err && { git -C p ews clean dead --force >out 2>err || :; } &&
	test_grep "a command runs in session" err && kill -9 $owner && test_expect_code 137 wait $pid && git -C p ews status --json dead >status.json && test_json status.json ".sessions[0].state" interrupted &&
	test_json status.json ".sessions[0].owner.pid" $owner && git -C p ews status dead >out && test_grep "^Session dead (interrupted: its owner, process $owner, died)" out && git -C p ews >out && test_grep "recover: its owner, process $owner, died; git ews recover dead" out &&
	test_expect_code 125 run_in p dead -- true && test_grep "Status: interrupted" err && git -C p ews recover --all >out && test_grep "owner" out &&
	test_grep "still at work in it: .*($command)" out && git -C p ews status --json dead >status.json && test_json status.json ".sessions[0].state" active &&
	test_json status.json ".sessions[0].owner" null && kill -9 $command && test_wait_for 20 eval "! readlink /proc/${command:?}/cwd" && run_in p dead --end -- cat kept && test "$(cat out)" = kept
'

test_expect_success 'clean ends what dead owners left, unless it is changed' '
	for name in plain changed; do
		behind p $name "test $name = plain || echo x >x; exec sh -c \"echo \\\$\\\$ >\\\"\\\$TMPDIR/ready\\\"; exec sleep 60\"" &&
		test_wait_for 20 eval "cat \"$HOME\"/.superqode/tmp/*/ready >pid 2>/dev/null" && kill -9 "$(owner_of p $name)" "$(cat pid)" &&
		test_expect_code 137 wait $pid && rm -r "$HOME"/.superqode/tmp/* || return 1
	done && git -C p ews clean >out 2>err && test_grep "its owner died; unchanged.plain" out && test_grep "stays: changed: changed; --force" err &&
	git -C p ews clean --force >out && test_grep "its owner died; changed.changed" out && git -C p ews list >list && test_must_be_empty list
'

test_expect_success 'processes left behind are named, and keep the session; --reap ends them' '
	run_in p --new=left -- sh -c "sleep 60 >/dev/null 2>&1 & echo \$!" && sleeper=$(cat out) && test_when_finished "kill -9 $sleeper || :" &&
	test_grep "^warning: left behind: .* ($sleeper)$" err && test_grep "^warning: session .left. goes on: .*in use by" err && kill -9 $sleeper &&
	run_in p left --reap --end -- sh -c "(setsid sh -c \"trap : TERM; echo \\\$\\\$; : >\\\$TMPDIR/up; while :; do sleep 0.1; done\" </dev/null 2>/dev/null &); until test -e \"\$TMPDIR\"/up; do sleep 0.1; done" &&
	test_grep "^warning: left behind, and ended: .* ($(cat out))$" err && test_must_fail kill -0 "$(cat out)" && git -C p ews list >list && test_must_be_empty list
'

test_expect_success 'P6: a change of the project is named, with the command that takes it back' '
	git -C p for-each-ref >before && old=$(git -C p rev-parse HEAD) &&
	run_in p --guard=off --new=moves -- git update-ref refs/heads/main HEAD~1 && test_grep "^error: the project changed while the command ran: ref refs/heads/main moved" err &&
	back=$(sed -n "s/^hint: \(git update-ref .*\)/\1/p" err) && (cd p && eval "$back") && git -C p for-each-ref >after && grep -v refs/ews after >got && grep -v refs/ews before >want && test_cmp want got &&
	test_expect_code 1 run_in p --guard=off --fail-on-change --json --keep --new=moves2 -- git config --local core.hooksPath x && test_must_be_empty err && test_json out .status 0 &&
	test_json out .project_changed true && test_json out ".drift[0]" "config changed" && git -C p config --unset core.hooksPath &&
	git -C p ews status moves2 --json >out && test_json out ".sessions[0].project_changed" true && git -C p ews status moves2 --log >out && test_grep "config changed" out &&
	git -C p ews end moves2
'

test_expect_success 'P6: through a symbolic ref no other is moved or deleted by what takes it back' '
	(cd p && git symbolic-ref refs/heads/alias refs/heads/main && git update-ref refs/heads/plain HEAD && git update-ref refs/heads/side HEAD~1) &&
	git -C p for-each-ref --format="%(objectname) %(symref) %(refname)" refs/heads >before &&
	test_expect_code 1 run_in p --guard=off --fail-on-change -- sh -c "git symbolic-ref refs/heads/planted refs/heads/main && git symbolic-ref refs/heads/alias refs/heads/side && git symbolic-ref refs/heads/plain refs/heads/main" &&
	test_grep "ref refs/heads/alias moved from refs/heads/main to refs/heads/side" err && sed -n "s/^hint: //p" err >back && test_line_count = 3 back && (cd p && sh -e ../back) &&
	git -C p for-each-ref --format="%(objectname) %(symref) %(refname)" refs/heads >after && test_cmp before after &&
	(cd p && git symbolic-ref -d refs/heads/alias && git branch -D plain side)
'

test_expect_success 'P6: HEAD, index, config and hooks are named with commands that bring them back' '
	(cd p && echo "#!/bin/sh" >.git/hooks/stays && echo "#!/bin/sh" >".git/hooks/it'"'"'s gone" && chmod +x .git/hooks/* && ln -s stays .git/hooks/link && sleep 0.01 && tar -cf ../before .git/HEAD .git/index .git/config .git/hooks/* .git/info/*) &&
	sha256sum <p/.git/index >index && stat -c "%y %a" p/.git/index p/.git/config p/.git/hooks/* >times &&
	cat >breaker <<-\EOF &&
	cd "$EWS_PROJECT/.git" && git symbolic-ref HEAD refs/heads/other && git config core.hooksPath /tmp && echo x >>hooks/stays && chmod -x hooks/stays && rm -f hooks/it* &&
	echo evil >hooks/new && mkdir "hooks/new dir" && ln -sf /etc/passwd hooks/link && git update-ref "refs/heads/a;>evil" main && rm -r info && echo x >>index
	EOF
	test_expect_code 1 run_in p --guard=off --fail-on-change --keep --new=deeds -- sh "$PWD/breaker" && grep "^error: the project changed" err >said && test_line_count = 10 said &&
	sed -n "s/^hint: //p" err >back && test_line_count = 10 back && (cd p && sh -e ../back) && sha256sum <p/.git/index >index2 && test_cmp index index2 &&
	stat -c "%y %a" p/.git/index p/.git/config p/.git/hooks/* >times2 && test_cmp times times2 && test "$(readlink p/.git/hooks/link)" = stays && tar -df before -C p && git -C p for-each-ref >refs && test_grep ! evil refs && test_path_is_missing p/evil &&
	rm p/.git/hooks/* && run_in p --guard=off deeds -- true && ls -d "$HOME"/.superqode/working/p/sessions/deeds/before-* >list && test_line_count = 1 list
'

test_expect_success 'P6: stashes that are gone, or came, are named with what brings the list back' '
	test_repo hoard && (cd hoard && for n in 1 2 "it'"'"'s 3"; do echo "$n" >>src/log && git stash push -q -m "$n" || exit 1; done) && git -C hoard stash list --format="%H %gs" >before && git -C hoard ews start --method in-place s &&
	git -C hoard stash clear && git -C hoard ews status s >out && test_grep "stash [0-9a-f]* (On main: it.s 3) is gone" out && git -C hoard ews revert s 2>err && sed -n "s/.*this takes it back: git/git/p" err >back && test_line_count = 3 back && (cd hoard && sh -e ../back) && git -C hoard stash list --format="%H %gs" >after && test_cmp before after &&
	git -C hoard stash drop -q "stash@{1}" && git -C hoard ews revert s 2>err && sed -n "s/.*this takes it back: git/git/p" err >back && test_line_count = 1 back && (cd hoard && sh -e ../back) && git -C hoard stash list --format=%H | sort >after && cut -d" " -f1 before | sort | test_cmp - after &&
	git -C hoard ews end s && git -C hoard stash list --format="%H %gs" >before && test_expect_code 1 run_in hoard --guard=off --fail-on-change -- sh -c "for n in 4 5; do echo \$n >>src/log && git stash -q || exit 1; done && git stash drop -q stash@{3}" &&
	git -C hoard stash list --format=%H -2 >came && sed -n "s/^hint: //p" err >back && test_line_count = 1 back && (cd hoard && sh -e ../back) && git -C hoard stash list --format=%H | sort >after && cut -d" " -f1 before | sort - came | test_cmp - after
'

test_expect_success 'in place one that came is shown, not taken away' '
	test_repo stashed && git -C stashed ews start --method in-place s && for n in 1 2; do echo $n >>stashed/src/log && git -C stashed stash -q || return 1; done && git -C stashed ews revert s 2>err && test_grep "alone holds what this shows: git stash list$" err >shown && test_line_count = 1 shown &&
	git -C stashed ews end --json s >json 2>err && test_json json ".sessions[0].revert.ref_commands[0]" "git stash list" && git -C stashed stash list >out && test_line_count = 2 out
'

test_expect_success 'P4: no hint takes away a stash that somebody made meanwhile: it has the only copy' '
	test_repo aside && behind aside helper "echo ready; until test -e \"\$EWS_PROJECT/../go\"; do sleep 0.1; done" && until grep -q ready helper.out; do sleep 0.1; done && echo mine >>aside/src/log && git -C aside stash -q && : >go && wait "$pid" &&
	test_grep "^error: the project changed while the command ran: stash [0-9a-f]* (WIP on main.*) is new" helper.err && test_grep ! "^hint:.*stash" helper.err && git -C aside stash pop -q && test_grep mine aside/src/log &&
	test_expect_code 0 run_in aside --json --guard=off -- sh -c "cd \"\$EWS_PROJECT\" && git stash -q" && test_json_count out .drift 1 && test_json_count out .commands 1 && test_json out ".commands[0]" "" && git -C aside stash pop -q &&
	git -C aside ews start --method in-place s && git -C aside stash -q && git -C aside ews revert s 2>err && test_grep ! "stash drop" err && git -C aside ews end s && test_grep mine aside/src/log && git -C aside stash show -p >out && test_grep mine out
'

test_expect_success 'P4: no hint takes away a branch that alone holds a commit, or has one in its log; it shows them' '
	test_repo kept && cat >maker <<-\EOF &&
	cd "$EWS_PROJECT" && tip=$(git commit-tree -m mine HEAD^{tree}) && git update-ref --create-reflog refs/heads/alone "$tip" && git update-ref --create-reflog refs/heads/logged "$tip" && git update-ref refs/heads/logged main && git branch same main
	EOF
	test_expect_code 1 run_in kept --guard=off --fail-on-change -- sh "$PWD/maker" && test_grep "^hint: git log refs/heads/alone --" err && test_grep "^hint: git log refs/heads/logged --" err && test_grep "^hint: git update-ref -d refs/heads/same" err &&
	sed -n "s/^hint: //p" err >back && (cd kept && sh -e ../back) >out && test_grep mine out && git -C kept for-each-ref --format="%(refname)" refs/heads >got && printf "refs/heads/%s\n" alone logged main | test_cmp - got &&
	git -C kept branch -D alone logged && git -C kept ews start --method in-place s && EWS_PROJECT=$PWD/kept sh maker && git -C kept ews revert s 2>err && test_grep "alone holds what this shows: git log refs/heads/alone --" err && test_grep "this takes it back: git update-ref -d refs/heads/same" err &&
	git -C kept ews revert --json s >out && test_json_count out .ref_commands 3 && git -C kept ews end s
'

test_expect_success 'P3: in place: a new ref alone holds only that to which no ref leads that was there' '
	test_repo led && git -C led tag -m one was && git -C led ews start --method in-place s && git -C led branch old HEAD~2 && git -C led tag light HEAD~ && git -C led tag again was && git -C led update-ref --create-reflog refs/heads/logged HEAD~2 && git -C led update-ref refs/heads/logged HEAD~ && git -C led ews revert s 2>err && for ref in heads/old tags/light tags/again heads/logged; do
		test_grep "this takes it back: git update-ref -d refs/$ref " err || return 1
	done && test_grep ! "alone holds" err && git -C led branch work old && git -C led tag -m mine noted HEAD~2 && (cd led && git update-ref refs/heads/work "$(git commit-tree -p old -m mine old^{tree})") && git -C led branch beside work && git -C led ews revert s 2>err && for ref in heads/work heads/beside; do
		test_grep "alone holds what this shows: git log refs/$ref --" err || return 1
	done && test_grep "alone holds what this shows: git show refs/tags/noted --" err && git -C led show refs/tags/noted -- >out && test_grep "^mine" out && test_grep "back: git update-ref -d refs/heads/old " err && git -C led update-ref refs/tags/blob "$(git -C led rev-parse HEAD:src/main.c)" && git -C led ews revert s 2>err && test_grep "git show refs/tags/blob --" err && test_grep "back: git update-ref -d refs/heads/old " err && git -C led ews end s
'

test_expect_success 'P4: in place: all commands together lose nothing either: a ref that moved, and is to be moved back, holds what it led to before and leads to now' '
	test_repo shifted && git -C shifted config core.logAllRefUpdates false && rm -r shifted/.git/logs && git -C shifted branch ahead && git -C shifted branch behind "$(git -C shifted commit-tree -p HEAD -m theirs "HEAD^{tree}")" && git -C shifted tag was && git -C shifted ews start --method in-place s && theirs=$(git -C shifted rev-parse behind) && mine=$(git -C shifted commit-tree -p HEAD -m mine "HEAD^{tree}") &&
	git -C shifted branch -f ahead "$mine" && git -C shifted branch -f behind HEAD~ && git -C shifted branch new "$mine" && git -C shifted branch newer "$theirs" && git -C shifted branch old HEAD~2 && git -C shifted tag -m noted noted && git -C shifted update-ref refs/tags/was "$(git -C shifted rev-parse noted)" &&
	git -C shifted ews revert s 2>err && for shown in "log refs/heads/new" "log refs/heads/newer" "show refs/tags/noted"; do test_grep "alone holds what this shows: git $shown --$" err || return 1; done && test_grep "back: git update-ref -d refs/heads/old " err && sed -n "s/.* takes it back: \(git update-ref .*\)/\1/p" err >back && test_line_count = 4 back &&
	noted=$(git -C shifted rev-parse noted) && (cd shifted && sh -e ../back) && for id in $mine $theirs; do git -C shifted for-each-ref --contains "$id" >out && test -s out || return 1; done && test "$(git -C shifted rev-parse ahead behind was)" = "$(git -C shifted rev-parse HEAD; echo "$theirs"; git -C shifted rev-parse HEAD)" && test "$(git -C shifted rev-parse noted)" = "$noted"
'

test_expect_success 'P6: where history ends is looked at: a fetch --depth in a workspace cuts that of the project, too' '
	test_repo whole 4 && git clone -q --bare whole whole-up && start_ws whole s && git -C "$ws" fetch -q --depth=1 "file://$PWD/whole-up" main && git -C whole ews status s >out && test_grep "Project: *shallow changed" out && git -C whole ews end s 2>err && test_grep "^drift: shallow changed" err && git -C whole fetch -q --unshallow "file://$PWD/whole-up" main &&
	git -C whole log --oneline >before && test_expect_code 1 run_in whole --guard=off --fail-on-change -- git fetch -q --depth=1 "file://$PWD/whole-up" main && test_grep "^error: the project changed while the command ran: shallow changed" err && sed -n "s/^hint: //p" err >back && test_line_count = 1 back && sh -e back && git -C whole log --oneline >after && test_cmp before after
'

test_expect_success 'P6: that git looks at files again is no change of the project; what its index says of them is' '
	start_ws p looked && sha256sum <p/.git/index >index && run_in p looked --guard=off --fail-on-change -- sh -c "cd \"\$EWS_PROJECT\" && touch -d @1 src/main.c && git status && git update-index --index-version 4" &&
	sha256sum <p/.git/index >index2 && test_must_fail cmp -s index index2 && test_grep ! "the project changed" err && git -C p ews status --json looked >out && test_json out ".sessions[0].project_changed" false && test_json_count out ".sessions[0].drift" 0 &&
	git -C p update-index --index-version 2 && git -C p ews end looked >out 2>err && test_grep ! "drift" err &&
	for flag in assume-unchanged no-assume-unchanged skip-worktree no-skip-worktree; do
		test_expect_code 1 run_in p --guard=off --fail-on-change -- sh -c "cd \"\$EWS_PROJECT\" && git update-index --$flag src/main.c" && test_grep "^error: the project changed while the command ran: index changed" err || return 1
	done && start_ws p moded && git -C p update-index --chmod=+x src/main.c && git -C p ews end moded 2>err && test_grep "^drift: index changed$" err && git -C p reset -q
'

test_expect_success 'P6: of the index an old session may know the bytes alone, which tell nothing of what it says' '
	start_ws p bytes && kept=${HOME:?}/.superqode/working/p/sessions/bytes/tripwire && sed -i "/^shallow /d;s/^index [0-9a-f]*:/index $(sha256sum <p/.git/index | cut -c 1-64):/" "${kept:?}" && git -C p update-index --index-version 4 &&
	git -C p ews status --json bytes >out && test_json out ".sessions[0].project_changed" false && test_json_count out ".sessions[0].drift" 0 && git -C p tag after && git -C p ews end bytes 2>err && test_grep "^drift: ref refs/tags/after is new$" err && test_grep ! index err &&
	git -C p tag -d after && git -C p update-index --index-version 2
'

test_expect_success 'inside of a run what only tells may pass, and what is advised instead of the rest works' '
	test_repo told && start_ws told k && git -C told ews artifact add --type log src/log >out && for line in help "start -h" "snapshot drop -h" "lock acquire -h" doctor "artifact list" "suggestions list" "doctor --json"; do
		case $line in *-h) code=129 ;; *) code=0 ;; esac && test_expect_code $code run_in told -q k -- git ews $line && test_must_be_empty err || { echo >&2 "$line"; return 1; }
	done && for line in revert "clean --now" "apply --check" "doctor --fix" "artifact add --type log x" "end -h x" "start x -h" "help end" "end --help" "r\$x -h"; do
		test_expect_code 126 run_in told -q k -- git ews $line && test_grep ! "no known option" err && test_grep "^git ews: blocked: " err && sed -n "s/.*; use: .git ews \([a-z]*\). .*/\1/p" err >told.verb &&
		case $line in revert | "clean --now") test_expect_code 0 run_in told -q k -- git ews "$(cat told.verb)" ;; *help*) test_grep "Manual pages" err ;; esac || { echo >&2 "$line"; return 1; }
	done && git -C told ews end k
'

test_expect_success LANDLOCK 'a verb that is refused inside says why' '
	test_expect_code 128 run_in p -- "$(command -v git-ews)" start inside && test_grep "^hint: inside .git ews run. one may look" err
'

test_expect_success 'P8: that its output did not all arrive is said, with --log, too' '
	git -C p ews run --new=full --log --end -- echo hello >/dev/full 2>err && test_grep "^warning: what the command printed did not all arrive: No space left" err
'

test_expect_success 'P5: no link below .superqode is followed' '
	mkdir out-there && git init -q links && (cd links && ln -s ../out-there .superqode && echo 1 >a && git add . && git commit -q -m 1) &&
	test_expect_code 125 run_in links --new=a -- sh -c "echo 2 >a" && ls -A out-there >list && test_must_be_empty list && git -C links ews path a &&
	rm links/.superqode && mkdir links/.superqode && ln -s "$PWD/out-there" links/.superqode/qe-artifacts &&
	test_expect_code 125 run_in links --new=b -- sh -c "echo 2 >a" && rm links/.superqode/qe-artifacts && mkdir links/.superqode/qe-artifacts &&
	ln -s "$PWD/out-there" links/$patches && test_expect_code 125 run_in links --new=c -- sh -c "echo 2 >a" && rm links/$patches && mkdir links/$patches &&
	: >out-there-file && ln -s "$PWD/out-there-file" links/${patches:?}/d.patch && run_in links --new=d -- sh -c "echo 2 >a" && test_path_is_file links/${patches:?}/d-2.patch &&
	ls -A out-there >list && test_must_be_empty list && test ! -s out-there-file
'

test_expect_success 'qe.artifacts.location is where the patch goes' '
	run_in p --new=place -- sh -c "echo x >x" && git -C p -c ews.artifacts.location="$PWD/elsewhere" ews run --new=place2 -- sh -c "echo x >x" &&
	test_path_is_file elsewhere/patches/place2.patch && test_cmp p/${patches:?}/place.patch elsewhere/patches/place2.patch &&
	printf "qe:\n  artifacts:\n    location: .superqode/other\n" >p/superqode.yaml && run_in p --new=place3 -- sh -c "echo x >x" &&
	test_path_is_file p/.superqode/other/patches/place3.patch && rm p/superqode.yaml
'

test_expect_success 'plain directories, copies, in place, bare repositories' '
	mkdir plain && echo 1 >plain/a && run_in plain --policy=inside -- sh -c "echo 2 >>a" && test "$(cat plain/a)" = 1 && ls plain/$patches >list && test_line_count = 1 list &&
	run_in p --method snapshot --policy=inside --new=copy -- git commit -q --allow-empty -m inside && git -C p log --oneline --branches >log && test_grep ! inside log &&
	test_repo here && test_fingerprint here >before && run_in here --method in-place --new=here -- sh -c "pwd; echo x >x; rm run.sh" &&
	test "$(cat out)" = "$PWD/here" && test_path_is_file here/${patches:?}/here.patch && test_fingerprint here >after && test_cmp before after &&
	git clone -q --bare p bare.git && run_in bare.git --new=bare -- sh -c "ls; echo x >x" && test_grep "^src$" out && test_path_is_missing bare.git/.superqode
'

# lines on stdin, each run in the session: say which of them were not refused
cat >attacks.sh <<\EOF
while read -r line; do
	(eval "$line") 2>>"$TMPDIR/refusals" && echo "done: $line"
done
exit 0
EOF

test_expect_success LANDLOCK 'P6: a command writes in the workspace and its private directory, and nowhere else' '
	test_repo held && mkdir apart && echo 1 >apart/f && test_fingerprint held >before && cat >lines <<-\EOF &&
	echo x >>"$EWS_PROJECT/src/main.c"
	: >"$EWS_PROJECT/new"
	rm "$EWS_PROJECT/src/main.c"
	mv "$EWS_PROJECT/src" "$EWS_PROJECT/moved"
	mv "$EWS_PROJECT/src/main.c" "$EWS_WORKSPACE/taken"
	ln "$EWS_PROJECT/src/main.c" "$EWS_WORKSPACE/hard"
	mv run.sh "$EWS_PROJECT/put"
	ln -s "$EWS_PROJECT" link && echo x >link/src/main.c
	echo x >"$EWS_PROJECT/.git/refs/heads/x"
	echo x >>"$EWS_PROJECT/.git/config"
	: >"$EWS_PROJECT/.git/hooks/pre-commit"
	rm -r "$EWS_PROJECT/.git/refs"
	git update-ref refs/heads/x HEAD
	git config --local a.b c
	git add -A && git commit -m x
	git -C "$EWS_PROJECT" commit --allow-empty -m x
	: >"$HOME/x"
	: >"$HOME/.superqode/x"
	: >"$HOME/.superqode/working/held/sessions/$EWS_SESSION/state.json"
	rm -r "$HOME/.superqode/working/held/sessions/$EWS_SESSION"
	mv "$EWS_WORKSPACE" "$EWS_WORKSPACE.moved"
	: >"$TMPDIR/../x"
	echo x >"$EWS_PROJECT/../apart/f"
	EOF
	run_in held --new=held --keep -v -- sh "$PWD/attacks.sh" <lines && test_must_be_empty out && test_fingerprint held >after && test_cmp before after &&
	test_grep "^note: guard: auto, read-only, enforced by the kernel; open: .*, the network$" err && test "$(cat apart/f)" = 1 &&
	git -C held ews status held >out && test_grep "Guard: .*enforced by the kernel; open: .*, the network$" out &&
	run_in held held --allow-write ../apart --no-network -- sh -c "echo 2 >\$EWS_PROJECT/../apart/f && echo ws >ws && echo t >\$TMPDIR/t && mkfifo fifo && rm fifo" &&
	test "$(cat apart/f)" = 2 && git -C held ews status held --json >out && test_json out ".sessions[0].guard.enforced" true &&
	test_json out ".sessions[0].guard.offline" true
'

test_expect_success LANDLOCK 'what everybody does works: git reads, make, here-documents, mktemp, pipes, python' '
	cat >daily.sh <<-\EOF && run_in held held -- sh -e "$PWD/daily.sh" && test "$(tail -n 1 out)" = end
	git status --short; git diff; git log --oneline; git blame src/main.c; git stash list; git grep -n main; git show --stat; git describe --always
	cat <<here | sort >sorted
	b
	a
	here
	test "$(head -n 1 sorted)" = a
	f=$(mktemp); d=$(mktemp -d); echo 1 >"$f"; mv "$f" "${d:?}/x"; ln -s x "${d:?}/y"; cp -a "$d" copy; sh -c "sleep 0 & wait"
	printf "all: x\nx: sorted\n\tcp \$< \$@\n" >Makefile; make -s -j2
	echo out >/dev/stdout; echo err >/dev/stderr; : >/dev/null
	if command -v python3 >/dev/null; then python3 -c "import tempfile; tempfile.TemporaryFile().write(b\"1\")"; fi
	echo end
	EOF
'

test_expect_success 'P6: --no-network: no socket leads out; without it one does' '
	set -- bash -c ": </dev/tcp/127.0.0.1/1" && test_expect_code 1 env LC_ALL=C git -C held ews run held -- "$@" 2>err &&
	test_grep "Connection refused" err && for level in auto advise off; do
		test_expect_code 1 env LC_ALL=C git -C held ews run held --guard=$level --no-network -- "$@" 2>err &&
		test_grep "Permission denied" err || return 1
	done && git -C held ews status held >out && test_grep "Guard: *off, read-only, advisory; no network$" out
'

test_expect_success 'P6: --allow-write takes nothing of the project, its repository or home, under whatever name' '
	mkdir names && ln -s ../held names/held && for dir in . .. src .git .git/refs ../names/held/src "$HOME/.superqode" \
		"$HOME/.superqode/tmp" / nosuch ../attacks.sh; do
		test_expect_code 125 run_in held --allow-write "$PWD/apart" --allow-write "$dir" -- true && test_grep "^error: --allow-write" err &&
		test_grep "^hint: " err || { echo "$dir" && return 1; }
	done && git -C held ews list >list && test_line_count = 1 list && git -C held worktree add -q "$PWD/linked" &&
	for dir in linked held held/.git; do
		test_expect_code 125 run_in linked --allow-write "$PWD/$dir" -- true || { echo "$dir" && return 1; }
	done && git -C held worktree remove linked && mkdir simple && run_in simple -- true &&
	test_expect_code 125 run_in simple --allow-write "$HOME/.superqode/store" -- true
'

test_expect_success LANDLOCK 'P6: inside a copy commits are free, and the origin is out of reach of any git' '
	test_repo origin && test_fingerprint origin >before && origin=$PWD/origin && export origin &&
	run_in origin --method snapshot --policy inside --new=free -- sh -c "
		git commit -q --allow-empty -m mine && git log -1 --format=%s
		for git in git /usr/bin/git; do
			\$git push -q \"\$origin\" HEAD:refs/heads/evil && echo pushed
			\$git -C \"\$origin\" commit -q --allow-empty -m evil && echo committed
		done
		echo x >\"\$origin/.git/refs/heads/evil\" && echo written
		true" && test "$(cat out)" = mine && test_fingerprint origin >after && test_cmp before after &&
	test_expect_code 126 git -C origin ews run -- git commit -m x 2>err && test_grep "run --method snapshot --policy inside" err
'

test_expect_success LANDLOCK 'git ews looks at its session from inside, says what it says outside, and leaves nothing' '
	cat >look.sh <<-\EOF && git init -q --object-format=sha256 other && (cd other && echo 1 >a && git add a && git commit -q -m 1) &&
	for verb in "diff" "diff --stat" "diff --json -- more" "path" "status $EWS_SESSION --format %(lines_added)" "snapshot diff $EWS_BASE now" "snapshot show $EWS_BASE"; do
		echo "= $verb"; git ews $verb || exit 1
	done
	ls -A "$TMPDIR"; git ews status >status && git ews list --json >list && git ews snapshot list >snapshots; echo $?; rm status list snapshots
	EOF
	for args in "held --method=worktree" "held --method=snapshot" "other --method=worktree" "simple --method=snapshot"; do
		set -- $args && run_in $1 $2 --keep --new=look -- sh -c "
			head -c 2000000 /dev/zero >big; echo more >more; mkdir many; for i in \$(seq 80); do echo \$i >many/\$i; done; . \"$PWD/look.sh\"" &&
		mv out inside && run_in $1 look --guard=off -- sh "$PWD/look.sh" && test_cmp inside out && test_grep "^+more$" out && test "$(tail -n 1 out)" = 0 &&
		git -C $1 ews end look || { echo "$args" && return 1; }
	done
'

# guarded <enforced> <argument>...: run in held; what is said of it
guarded() {
	ews_enforced=$1
	shift
	run_in held "$@" --json --keep -- true && test_json out .guard.enforced "$ews_enforced"
}

test_expect_success LANDLOCK 'P6: what the kernel does not hold is not called enforced' '
	guarded true held && guarded false held --guard=advise && guarded false held --guard=off && guarded true held --guard=auto &&
	guarded true --method snapshot --new=copied && git -C held ews end held copied && test_fingerprint held >before &&
	guarded false --method in-place --new=inplace && run_in held inplace -v -- sh -c "echo x >x; echo x >../apart/f || echo held" &&
	test "$(cat out)" = held && test_grep "guard: auto, read-only, advisory$" err && test_grep ! "^warning" err && git -C held ews end inplace &&
	test_fingerprint held >after && test_cmp before after && run_in simple --json -- true && test_json out .guard.enforced true
'

# without <answer> <why> <command>...: under a kernel that has no Landlock, by $as; what is said of it
as=
without() {
	ews_answer=$1 ews_why=$2
	shift 2
	$as "$EWS_BUILD/t/no-landlock" "$ews_answer" -- "$@" >out 2>err &&
		test_grep "^warning: kernel confinement unavailable ($ews_why); guard is advisory$" err &&
		test "$(grep -c "^warning" err)" = 1 && test_grep "^note: guard: auto, read-only, advisory$" err && test_grep "^x$" out
}

test_expect_success 'P6: a kernel that can not confine: a warning, and no claim' '
	none="this kernel has no Landlock" && old="Landlock is of ABI 2, .*" &&
	set -- git -C held ews run --new=none --end -v -- sh -c "echo x; : >\"\$EWS_PROJECT/../apart/\$1\"" sh &&
	without ENOSYS "$none" "$@" 1 && without abi2 "$old" "$@" 2 && without EOPNOTSUPP ".* not enabled .*" "$@" 3 && ls apart >list && test_line_count = 4 list &&
	"$EWS_BUILD/t/no-landlock" abi2 -- git -C held ews run --json -- true >out 2>err && test_must_be_empty err && test_json out .guard.enforced false &&
	test_expect_code 1 "$EWS_BUILD/t/no-landlock" ENOSYS -- env LC_ALL=C git -C held ews run --end --no-network -- bash -c ": </dev/tcp/127.0.0.1/1" 2>err &&
	test_grep "Permission denied" err && test_grep "^warning: kernel confinement" err &&
	"$EWS_BUILD/t/no-landlock" ENOSYS -- git -C held ews run --guard=advise -- true 2>err && test_grep ! "^warning" err
'

test_expect_success USERS 'P6: and so for an ordinary user' '
	mkdir theirs && git clone -q held theirs/p && test_give_user theirs && git config --global --add safe.directory "*" &&
	set -- git -C theirs/p ews run --new=own --end -v -- sh -c "echo x; : >\$EWS_PROJECT/x" &&
	for answer in ENOSYS abi2; do
		as=test_as_user && without $answer ".*" "$@" && test_path_is_file theirs/p/x && rm theirs/p/x || return 1
	done
'

test_expect_success USERS,LANDLOCK 'P6: with Landlock it holds him, too' '
	test_as_user git -C theirs/p ews run --keep -v -- sh -c "for f in \"\$EWS_PROJECT/x\" ../x \"\$HOME/y\"; do echo x >\"\$f\"; done; : >ok" >out 2>err &&
	test_path_is_missing theirs/p/x && test "$(grep -c "cannot create" err)" = 3 && test_grep "guard: auto, read-only, enforced" err
'

test_expect_success 'P4: a command can neither cut nor forge what the log says of what was before' '
	start_ws p logged && test_expect_code 126 run_in p logged -- git commit -m x && git -C p ews status --log logged >before && test_grep "blocked: git commit" before &&
	cat >forge.pl <<-\EOT && run_in p logged -- perl "$PWD/forge.pl" &&
	open(my $log, ">>&=", $ENV{EWS_LOG_FD}) or die;
	truncate($log, 0) or die;
	print $log "{\"timestamp\":\"2020-01-01T00:00:00Z\",\"verb\":\"revert\",\"message\":\"all is well\"}\n";
	EOT
	git -C p ews status --log logged >after && head -n "$(wc -l <before)" after >first && test_cmp before first && test_grep ! "all is well" after &&
	git -C p ews report --json --output - logged >json && test_json_count json .blocked 1 && find "$HOME/.superqode/working/p/sessions/logged" -name said >left && test_must_be_empty left && git -C p ews end logged
'

test_expect_success 'P4: nor can it hide what was stopped, or make what is printed no JSON' '
	start_ws p hidden && cat >hide.pl <<-\EOT &&
	BEGIN { $^F = 1000; }
	open(my $log, ">>&=", $ENV{EWS_LOG_FD}) or die;
	syswrite($log, "\0\n{\"timestamp\":\"2020-01-01T00:00:00Z\",\"verb\":\"guard\",\"command\":\"\xff\e[31m\"}\n");
	exit(system("git", "push") >> 8);
	EOT
	test_expect_code 126 run_in p --json hidden -- perl "$PWD/hide.pl" >out && test_json_count out .blocked 2 && test_json out ".blocked[1].subcommand" push && git -C p ews status --log --json hidden >log &&
	for file in out log; do
		iconv -f UTF-8 -t UTF-8 $file >same && test_cmp $file same && test_grep ! "$(printf "\033")" $file || return 1
	done && git -C p ews end hidden
'

test_expect_success 'P8: what could not be kept is named, also where nothing else changed' '
	git -C p config ews.maxFile 1000000 && test_when_finished "git -C p config --unset ews.maxFile" && git -C p ews run -- sh -c "head -c 1000001 /dev/zero >big" 2>err && test_grep "left out: big (too-large)" err &&
	git -C p ews run --json -- sh -c "head -c 1000001 /dev/zero >big" >out && test_json out ".skipped[0].path" big && start_ws p big && head -c 1000001 /dev/zero >"${ws:?}/big" && git -C p ews snapshot create --partial big >id && git -C p ews snapshot create --partial --if-changed big >again 2>err && test_must_be_empty again && test_grep "big (too-large)" err && git -C p ews end big
'

test_expect_success 'P6: a colon in the name of the project does not lead past the shim; one in that of home is refused' '
	test_repo "a:b" && test_expect_code 126 git -C a:b ews run -- sh -c "git push" 2>err && test_grep "blocked: git push" err && mkdir "ho:me" && test_expect_code 125 env SUPERQODE_HOME="$PWD/ho:me" git -C p ews run -- git push 2>err && test_grep "without a colon" err && test_grep "^hint: .*SUPERQODE_HOME" err && SUPERQODE_HOME="$PWD/ho:me" git -C p ews run --guard off -- true
'

test_expect_success 'P6, P9: git reads in a session whatever its environment has become, and tells the settings that are' '
	start_ws p cleared && for set in "env -i PATH=\"\$PATH\"" "env TMPDIR=/tmp" "env TMPDIR=/nonexistent"; do
		run_in p cleared -- sh -c "echo new >new && $set git status -s && $set git diff --stat" >out && echo "?? new" >want && test_cmp want out || return 1
	done && run_in p cleared -- sh -c "git config core.hooksPath || git config -l | grep -ci hookspath || git rev-parse --git-path hooks" >out && test_grep "hooks$" out &&
	test_expect_code 126 run_in p cleared -- sh -c "env -i PATH=\"\$PATH\" git commit -m x" && git -C p ews end cleared
'

test_expect_success !SANITIZE,!VALGRIND 'out of memory or of descriptors the status is 125, and the message says what is wanting' '
	for verb in "run -- true" shell; do test_expect_code 125 sh -c "ulimit -v 20000 && exec git-ews -C p $verb" 2>err && test_grep "out of memory" err || return 1; done &&
	for n in $(seq 12 30); do
		test_expect_code 125 sh -c "ulimit -n $n && exec git-ews -C p run -- true" 2>err && test_grep ! "install\|damaged" err || return 1
	done
'

test_expect_success STRACE,!SANITIZE,!VALGRIND 'nor is HEAD called damaged when there are no descriptors left to read it with' '
	test_strace trace -qq -e trace=openat,openat2 git-ews -C p run -- true && n=$(grep -n "HEAD" trace | sed -n "2s/:.*//p") && last=$((n + 40)) && : >said &&
	while test "$n" -lt "$last"; do
		test_expect_code 125 test_strace trace -qq -e trace=openat,openat2 -e inject=openat,openat2:error=EMFILE:when=$n+ git-ews -C p run -- true 2>err && test_grep ! "install\|damaged" err && cat err >>said || return 1
		n=$((n + 2))
	done && test_grep "cannot read HEAD of the project: .*Too many open files" said
'

test_expect_success 'EWS_PROJECT is where the work tree of the session stands by now' '
	test_repo lw && git -C lw worktree add -q --detach "$PWD/lw-tree" && start_ws lw-tree lw && git -C lw worktree move "$PWD/lw-tree" "$PWD/lw-now" && for at in lw "${ws:?}"; do
		git -C "$at" ews run lw -- sh -c "echo \$EWS_PROJECT" >out && echo "$PWD/lw-now" | test_cmp - out || return 1
	done
'

test_expect_success 'an ordinary exit leaves no owner, no lock and no temporary files' '
	git -C p ews status --json --ended >status.json && ! grep -q "\"pid\"" status.json && ls "$HOME/.superqode/working/p/locks" | { grep -v ":session:\|:owner:" || :; } >list && test_must_be_empty list &&
	ls "$HOME/.superqode/tmp" >list && test_must_be_empty list
'

test_expect_success 'P8: an index that cannot be read just now has not changed' '
	test_repo indexed && start_ws indexed s && look=0 && while test_more_looks; do
		test_look EIO "read.*/indexed/[.]git/index$" -C indexed status s >out 2>err && test_grep ! "index changed" out || return 1
	done && test $look -gt 1
'

test_expect_success STRACE 'P8: where no descriptor is left for it what a command prints is not in the place of the answer' '
	start_ws p answer && export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" && strace -qq -o trace -e trace=fcntl git-ews -C p run answer --json --guard off -- echo PRINTED >out 2>err && test_json out .status 0 &&
	n=$(grep -c "^fcntl" trace) && test $n -gt 5 && for i in $(seq $((n - 5)) $n); do
		strace -qq -o trace -e trace=fcntl -e inject=fcntl:error=EMFILE:when=$i git-ews -C p run answer --json --guard off -- echo PRINTED >out 2>err
		test_grep ! PRINTED out || return 1
	done
'

test_expect_success 'a command does not run at the top since its directory can not be opened just now' '
	test_repo below && start_ws below s && look=0 && while test_more_looks; do
		test_look EIO "/qe/s/src$" -C below/src run s --guard off -- pwd >out 2>err && if test $code = 0; then test_grep "/src$" out; fi || return 1
	done && test $look -gt 1
'

test_expect_success STRACE 'a program that can not be read just now may be one, and may be run' '
	test_repo unread && printf "#!/bin/sh\n" >unread.sh && chmod +x unread.sh && test_expect_code 126 test_strace trace -P "$PWD/unread.sh" -e trace=execve -e inject=execve:error=EIO git-ews -C unread run -- "$PWD/unread.sh" >out 2>err && test_grep "cannot run .*unread.sh.: Input/output error" err && test_grep ! "may you execute it" err &&
	chmod -x unread.sh && test_expect_code 126 git -C unread ews run -- "$PWD/unread.sh" 2>err && test_grep "may you execute it" err
'

test_done
