#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='run and shell on a terminal: programs that own it, keys, sizes, stops; --log, in pipes, too (P4, P5, P6)

The terminal is tmux, with a server of its own in the test directory. What is waited for is a text on its screen.'

. "$(dirname "$0")/test-lib.sh"

sessions=$HOME/.superqode/working/p/qe

# a socket for each server: one that ends still answers for a moment
server=0

tm() {
	LC_ALL=C.UTF-8 tmux -S ./tm$server -f /dev/null "$@"
}
cleanup 'tm kill-server 2>/dev/null || :'

# open_pane: a pane with an interactive bash in the project, which says "ready> "
open_pane() {
	tm kill-server 2>/dev/null
	server=$((server + 1))
	tm new-session -d -x 80 -y 24 -c "$PWD/p" env PS1="ready> " TERM=screen PATH="$PWD/bin:$PATH" bash --norc --noprofile -i 3>&- 4>&- 5>&- &&
	sees "^ready>"
}

# keys <key>...: C-c, Enter, ...; a word that is no key is typed as it is
keys() {
	tm send-keys "$@"
}

# fresh: an empty screen, at once: what was there is not what is waited for
fresh() {
	tm send-keys -R
}

type_line() {
	tm send-keys -l "$1" && tm send-keys Enter
}

shows() {
	tm capture-pane -J -p >screen && grep -q -e "$1" screen
}

# patiently <command>...: wait for what comes in no time, but on a busy machine
patiently() {
	test_wait_for 40 "$@"
}

# sees <pattern>: wait until a line of the screen is like that
sees() {
	patiently shows "$1" || { cat >&2 screen && return 1; }
}

is_prompting() {
	tm capture-pane -J -p >screen && test "$(grep -v "^ *$" screen | tail -n 1 | sed "s/ *$//")" = "ready>"
}

# prompts: wait until the last line is the shell's prompt, with nothing behind it
prompts() {
	patiently is_prompting || { cat >&2 screen && return 1; }
}

# is_raw: who runs in the pane reads each key
is_raw() {
	stty -a -F "$(tm display-message -p "#{pane_tty}")" | grep -q -e -icanon
}

# runs <session> <options> <command>: type that in a session of that name
runs() {
	rm -f "status.$1" && fresh && type_line "git ews run --keep --new=$1 $2 -- $3; write status.$1 \$?"
}

# ends <session> <status>: wait until it has
ends() {
	patiently test -s "status.$1" && test "$(cat "status.$1")" = "$2" && prompts || {
		cat >&2 screen "status.$1"
		return 1
	}
}

# command_of <name>: standard input is a shell script that is found by that name
command_of() {
	{ echo "#!/bin/sh" && cat; } >"bin/$1" && chmod +x "bin/$1"
}

test_expect_success 'setup' '
	mkdir bin && test_repo p && test_seq 1 100 >p/lines &&
	command_of write <<-EOT &&
	printf "%s\\n" "\$2" >"$PWD/\$1.new" && mv "$PWD/\$1.new" "$PWD/\$1"
	EOT
	command_of sizes <<-\EOT &&
	stty size; echo go
	until test "$(stty size)" = "30 100"; do sleep 0.02; done
	stty size
	EOT
	command_of waits <<-\EOT &&
	# not a shell: one that is stopped while it starts a program may wait for that, unstopped
	exec perl -e "\$| = 1; \$SIG{CONT} = sub { print qq(again\n) }; open(F, q(>made)) && print(F qq(\$\$\n)) && close(F) or die; print qq(started\n); sleep 9 while 1"
	EOT
	command_of asks <<-\EOT &&
	echo started
	read -r line
	echo "got $line"
	EOT
	command_of dies-raw <<-\EOT &&
	stty raw -echo
	kill -9 $$
	EOT
	open_pane
'

# each with the terminal itself, and with one of its own
for how in own log; do
	test $how = log && log=--log || log=

	test_expect_success "$how: vi" '
		runs vi$how "$log" "vi edited" && sees "^~" && keys ihello && sees "^hello" && keys Escape && type_line ":wq" &&
		ends vi$how 0 && test_grep -x hello "${sessions:?}/vi${how:?}/edited" && sees "Changes: 1 file"
	'

	test_expect_success "$how: less" '
		runs less$how "$log" "less lines" && sees "^23$" && keys G && sees "^100$" && keys q && ends less$how 0
	'

	test_expect_success "$how: an interactive shell edits lines and controls its own jobs" '
		runs repl$how "$log" "env PS1=inner: bash --norc --noprofile -i" && sees "^inner:" && keys "echo exyy" BSpace BSpace ited Enter && sees "^exited$" &&
		type_line waits && sees "^started" && keys C-z && sees "Stopped .*waits" && fresh && type_line "fg" && sees "^again" && keys C-c &&
		type_line "echo after-\$?" && sees "^after-130$" && type_line "exit 5" && ends repl$how 5
	'

	test_expect_success "$how: the size of the window, also when it changes" '
		runs size$how "$log" sizes && sees "^24 80$" && sees "^go$" && tm resize-window -x 100 -y 30 && sees "^30 100$" && ends size$how 0 &&
		tm resize-window -x 80 -y 24
	'

	test_expect_success "P4: $how: ctrl-C ends the command, and the run goes on to its summary" '
		runs int$how "$log" waits && sees "^started" && keys C-c && ends int$how 130 && sees "Changes: 1 file" && sees "is kept: " &&
		git -C p ews diff int$how >diff && test_grep "^+[0-9]" diff
	'

	test_expect_success "$how: ctrl-Z stops it with the run, fg brings both back" '
		runs stop$how "$log" asks && sees "^started" && keys C-z && sees "Stopped .*git ews run" && prompts &&
		fresh && type_line "stty -a | tr \" \" \"\\n\" | grep \"icanon\\|opost\"; echo mine" && sees "^mine" && sees "^icanon" && sees "^opost" &&
		type_line fg && sees "^git ews run" && { test $how = own || patiently is_raw; } && type_line first && sees "^got first" && sees "is kept: .*stop$how" && prompts
	'

	test_expect_success "$how: in the background it leaves the terminal to the shell, and stops where it wants to read" '
		fresh && type_line "git ews run --keep --new=back$how $log -- asks &" && sees "started$" && type_line "echo mine" && sees "^mine" &&
		type_line "fg" && sees "^git ews run" && { test $how = own || patiently is_raw; } && type_line input && sees "^got input" && sees "is kept: .*back$how" && keys Enter && prompts
	'

	test_expect_success "$how: what was killed in raw mode leaves the terminal as it was" '
		runs raw$how "$log" dies-raw && ends raw$how 137 && type_line "write modes \"\$(stty -a)\"" && patiently test -s modes &&
		test_grep ! -e "-icanon\|-echo \|-opost\|-isig" modes && rm modes && prompts
	'

	test_expect_success "P4: $how: the terminal closes: the run takes its snapshot and goes to its end" '
		runs hup$how "$log" waits && sees "^started" && tm kill-server &&
		patiently eval "git -C p ews status --json hup$how >st && test_json st \".sessions[0].owner\" null" &&
		git -C p ews snapshot list hup$how --json >snaps && test_json_count snaps .snapshots 2 &&
		test_path_is_file p/.superqode/qe-artifacts/patches/hup$how.patch && open_pane
	'
done

test_expect_success 'P4: who is killed holds nothing by the terminal that he made' '
	runs dead --log waits && sees "^started" && git -C p ews status --json dead >st && owner=$(json st ".sessions[0].owner.pid") && kill -9 $owner && sees "died of signal 9" &&
	git -C p ews status --json dead >st && test_json st ".sessions[0].state" interrupted && command=$(cat "${sessions:?}/dead/made") &&
	patiently test ! -d "/proc/${command:?}/cwd" && open_pane
'

test_expect_success 'P6: shell: bash, zsh and sh with a marked prompt and our git, after what the user set' '
	echo "PS1=\"mine> \" bashrc=read PATH=/usr/bin:/bin" >"$HOME/.bashrc" && echo "zshrc=read PS1=\"zmine> \"" >"$HOME/.zshrc" && echo "PS1=\"smine> \" shrc=read" >"$HOME/.shrc" &&
	fresh && type_line "HOME=\"$HOME\" SHELL=/bin/bash git ews shell --new=one" && sees "^(ews one) mine>" && type_line "echo x-\$bashrc \${PWD##*/}" && sees "^x-read one$" &&
	type_line "command -v git" && sees "/sessions/one/bin/git$" && type_line "PS1=other:" && sees "^(ews one) other:" && type_line "echo x >made; false" && type_line "exit" && sees "status 1, which may be" && sees "is kept: .*one$" &&
	sees "git ews shell one. goes on" && prompts &&
	fresh && type_line "HOME=\"$HOME\" SHELL=\$(command -v zsh) git ews shell one" && sees "^(ews one) zmine>" && type_line "echo x-\$zshrc \$ZDOTDIR" && sees "^x-read .*home$" &&
	type_line "exit" && prompts &&
	fresh && type_line "HOME=\"$HOME\" ENV='\''\$HOME/.shrc'\'' SHELL=/bin/sh git ews shell --new=two" && sees "^(ews two) smine>" && type_line "echo x-\$shrc \$ENV" &&
	sees "^x-read .HOME/.shrc$" && type_line "exit" && sees "session .two. has ended; .git ews undo two. brings it back" && prompts &&
	fresh && type_line "ENV= SHELL=/bin/sh git ews shell one --end" && sees "^(ews one) ready>" && keys C-d && sees "session .one. has ended" && prompts
'

test_expect_success 'shell: commands from standard input, its status, its own failures' '
	echo "pwd; echo in \$EWS_PROMPT; exit 3" >script && for shell in /bin/bash /bin/sh "$(command -v zsh)" ""; do
		test_expect_code 3 env SHELL="$shell" git -C p ews shell --end <script >out 2>err && test_grep "^in (ews qe-.*)" out && test_grep "status 3" err &&
		test_grep "has ended" err || return 1
	done &&
	test_expect_code 127 env SHELL=/nonexistent git -C p ews shell <script 2>err && test_grep "^error: cannot run ./nonexistent.: no such program" err &&
	test_expect_code 125 git -C p ews shell -- true && test_expect_code 125 git -C p ews shell --keep --end </dev/null &&
	echo exit | SHELL=/bin/sh git -C p ews shell --json >out && test_json out .status 0 && test_json out .ended true
'

logs=$PWD/p/.superqode/qe-artifacts/logs

test_expect_success '--log in pipes: output and errors stay apart, and both are in the log, as they came' '
	git -C p ews run --log --new=pipes -- sh -c "echo out; sleep 0.1; echo err >&2; sleep 0.1; echo end" >out 2>err && printf "out\nend\n" | test_cmp - out &&
	test_grep "^note: the log is .*/logs/pipes.log$" err && head -n 1 err >first && echo err | test_cmp - first && printf "out\nerr\nend\n" | test_cmp - "${logs:?}/pipes.log" &&
	git -C p ews run --log --json --new=pipes -- sh -c "for i in 1 2 3 4 5 6 7 8 9; do echo o\$i; echo e\$i >&2; done" >out 2>err && test_json out .log "${logs:?}/pipes-2.log" &&
	test_json out .log_flaw null && test_cmp err "${logs:?}/pipes-2.log" && test_line_count = 18 err && sed -n "3,4p" err >got && printf "o2\ne2\n" | test_cmp - got &&
	test_expect_code 127 git -C p ews run --log --new=none -- ./nosuch && test_path_is_missing "${logs:?}/none.log"
'

test_expect_success 'P4: --log loses nothing that was printed, however slow who reads is' '
	{ git -C p ews run --log --new=slow -- head -c 120000 /dev/zero 2>err; echo $? >status; } | { sleep 0.8; wc -c; } >count && test "$(cat count)" = 120000 &&
	test "$(cat status)" = 0 && test "$(wc -c <"${logs:?}/slow.log")" = 120000
'

test_expect_success '--log: who reads no more is noticed by the command, and the run goes to its end' '
	{ git -C p ews run --log --new=pipe --keep -- sh -c "echo x >made; exec yes" 2>err; echo $? >status; } | head -n 1 >out && test "$(cat out)" = y &&
	test "$(cat status)" = 141 && test_grep "^Changes: 1 file" err
'

test_expect_success '--log: a process that is left behind and holds the pipe is named, and not waited for' '
	git -C p ews run --log --new=held -- sh -c "sleep 60 & echo \$!" >out 2>err && test_when_finished "kill -9 $(cat out)" && test_grep "^warning: left behind: .* ($(cat out))" err &&
	test_cmp out "${logs:?}/held.log"
'

test_expect_success '--log ends at 64 MiB, and says so; the output does not' '
	git -C p ews run --log --new=big -- head -c 68000000 /dev/zero 2>err | wc -c >count && test "$(cat count)" = 68000000 && test_grep "^warning: the log is not complete: it ends at 64 MiB" err &&
	tail -n 1 "${logs:?}/big.log" >last && test_grep "the log ends here" last && test "$(head -c 67108864 "${logs:?}/big.log" | tr -d "\000" | wc -c)" = 0 &&
	test "$(wc -c <"${logs:?}/big.log")" -lt 67109000 && rm "${logs:?}/big.log"
'

test_expect_success 'P5: --log follows no link, and takes nobody else'\''s file' '
	mkdir out-there && git init -q links && (cd links && echo 1 >a && git add a && git commit -q -m 1 && mkdir -p .superqode/qe-artifacts && ln -s ../../../out-there .superqode/qe-artifacts/logs) &&
	test_expect_code 125 git -C links ews run --log --new=a -- true && ls -A out-there >list && test_must_be_empty list && rm links/.superqode/qe-artifacts/logs &&
	mkdir links/.superqode/qe-artifacts/logs && ln -s "$PWD/out-there/new" links/.superqode/qe-artifacts/logs/b.log && git -C links ews run --log --new=b -- echo hi &&
	ls -A out-there >list && test_must_be_empty list && test "$(cat links/.superqode/qe-artifacts/logs/b-2.log)" = hi
'

test_expect_success 'long work says how far it has come, in the form that git has; not in a pipe, nor where it is not long' '
	test_repo far && fresh && type_line "GIT_PROGRESS_DELAY=0 git -C ../far ews start far >path; write status.far \$?" &&
	patiently test -s status.far && test "$(cat status.far)" = 0 &&
	sees "^Filling workspace: 100% ([0-9]*/[0-9]*), [0-9.]* [KM]*i*[Bb][a-z]* | [0-9.]* [KM]*i*[Bb][a-z]*/s, done\. *$" &&
	GIT_PROGRESS_DELAY=0 git -C far ews start piped >path 2>err && test_must_be_empty err &&
	rm "$HOME/.superqode/working/far/sessions/piped/cache" && git -C far ews diff --progress piped 2>err && test_grep "^.Comparing files: " err &&
	take_ws path && echo x >"${ws:?}/x" && git -C far ews revert piped 2>err && git -C far ews undo --progress piped 2>err && test_grep "Undoing: 100% ([0-9]*/[0-9]*).*, done\. *$" err &&
	head -c 4M /dev/urandom >far/big && git -C far add big && git -C far commit -q -m big && start_ws far patched && head -c 4M /dev/urandom >"${ws:?}/big" && git -C far ews end --progress patched 2>err >out && tr "\\r" "\\n" <err >lines && test_grep "^Ending the session: \.\.\." lines && test_grep "^Ending the session: [0-9.]* [KM]iB | .*, done\. *$" lines &&
	git -C far ews end piped 2>err && test_grep ! "Ending the" err && git -C far ews clean --now --progress 2>err >out && test_grep "^.Cleaning up: [0-9]" err
'

test_expect_success 'of one large file as well, while it is packed' '
	git init -q large && head -c 20M /dev/zero >large/big && git -C large add big && git -C large commit -q -m big && start_ws large l && git -C large ews archive create --progress l 2>err >out && tr "\\r" "\\n" <err >lines && test_grep "^Packing:   0% (0/1), 8\.00 MiB | " lines
'

test_expect_success 'work in the background draws nothing over the foreground; that it is done it says' '
	tm pipe-pane "cat >drawn" && fresh && type_line "GIT_PROGRESS_DELAY=0 git -C ../far ews start behind >path & wait; write status.behind \$?" && patiently test -s status.behind && test "$(cat status.behind)" = 0 &&
	sees "^Filling workspace: 100% .*, done\. *$" && prompts && patiently grep -q "Filling workspace: .* done\." drawn && tm pipe-pane && tr "\\r" "\\n" <drawn >lines && grep "^Filling workspace: " lines >drawn.far && test_line_count = 1 drawn.far && test_grep "done\." drawn.far
'

# also after a failure, when nothing is cleaned
tm kill-server 2>/dev/null || :

test_done
