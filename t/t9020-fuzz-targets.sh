#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='fuzz targets: the inputs that are kept, and some made of them, find nothing (P5, P6)

make fuzz makes up millions of them.'

. "$(dirname "$0")/test-lib.sh"

targets=$(cd "$EWS_SRC/t/fuzz-targets/seeds" && echo *)

for target in $targets; do
	export target
	test_expect_success "$target" '
		TMPDIR=$PWD "$EWS_BUILD/t/fuzz-targets/replay-$target" --rounds 400 "$EWS_SRC/t/fuzz-targets/seeds/$target" >out && test_grep ", 400 made" out
	'
done

test_expect_success 'each target has inputs, and is built' '
	for file in "$EWS_SRC"/t/fuzz-targets/*.c; do
		name=$(basename "$file" .c) && case " $targets replay " in *" $name "*) ;; *) echo "$name" ;; esac
	done >missing && test_must_be_empty missing
'

test_done
