# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion of clew in bash, made by tools/completions from `clew help`: do not edit.
_clew()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
	local commands='record top report waits why trigger daemon incidents snapshot fetch join info edges requests spans io sql locks latency compare history path slack blame what-if dump convert check select pair forest stitch annotate export import functions doctor help'
	local options files others values head

	COMPREPLY=()
	# Bash takes --color=x as three words.
	[[ $current == = ]] && current=
	[[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
	if [[ $COMP_CWORD == 1 || ( $COMP_CWORD == 2 && ${COMP_WORDS[1]} == help ) ]]; then
		COMPREPLY=($(compgen -W "$commands" -- "$current"))
		return
	fi
	case ${COMP_WORDS[1]} in
	record)
		options='-o --output --rotate --keep --keyframe -d --duration -p --pid -t --tid --comm --cgroup --container --pod --unit -f --functions --returns --strict-entry --max-functions --max-cost -k --kernel-functions --usdt --lock-holds --environment --layer --runtime --stacks --no-stacks --stack-min --no-page-cache --messages --no-messages --network --no-network --outside --sync --ring-size --pause-drain --trace-events --few-task-slots --verify-counters --color --no-pager -h --help' files='-o|--output|--layer' others='--rotate|--keep|--keyframe|-d|--duration|-p|--pid|-t|--tid|--comm|--cgroup|--container|--pod|--unit|-f|--functions|--max-functions|--max-cost|-k|--kernel-functions|--usdt|--lock-holds|--environment|--runtime|--stack-min|--network|--outside|--ring-size|--pause-drain'
		case $previous in
		--returns) values='auto trampoline exits none' ;;
		--color) values='auto always never' ;;
		esac ;;
	top)
		options='--period -n --count -p --pid --comm --cgroup --container --pod --unit --outside --runtime --text --json --color --no-pager -h --help' files='' others='--period|-n|--count|-p|--pid|--comm|--cgroup|--container|--pod|--unit|--outside|--runtime'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	report)
		options='-p --pid --comm --cgroup --container --pod --unit --from --to --lines --debuginfod -d --duration --keep --json --html -o --output --slowest --all --color --no-pager -h --help' files='--keep|-o|--output' others='-p|--pid|--comm|--cgroup|--container|--pod|--unit|--from|--to|-d|--duration|--slowest'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	waits)
		options='-t --tid -p --pid --comm --cgroup --container --pod --unit --min --kind --from --to --idle --self --sort --by --stacks --lines --debuginfod -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='-t|--tid|-p|--pid|--comm|--cgroup|--container|--pod|--unit|--min|--from|--to|-d|--duration'
		case $previous in
		--kind) values='futex lock read write fsync file io fault journal throttle memory pipe socket eventfd ipc tty poll sleep signal stopped child vfork io_uring work rcu idle other unknown' ;;
		--sort) values='length start' ;;
		--by) values='object kind task call holder' ;;
		--color) values='auto always never' ;;
		esac ;;
	why)
		options='-t --tid -p --pid --comm --cgroup --container --pod --unit --slowest --class --call --file --lock --span --operation --now --from --to --idle --without --without-functions --lines --debuginfod --steps --all -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='-t|--tid|-p|--pid|--comm|--cgroup|--container|--pod|--unit|--class|--call|--file|--lock|--span|--operation|--from|--to|--idle|--without|-d|--duration'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	trigger)
		options='--json --color --no-pager -h --help' files='' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	daemon)
		options='-c --config --foreground --json --color --no-pager -h --help' files='-c|--config' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	incidents)
		options='--directory --json --color --no-pager -h --help' files='' others='--directory'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	snapshot)
		options='-o --output --last --from --to --color --no-pager -h --help' files='-o|--output' others='--last|--from|--to'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	fetch)
		options='-o --output --from --to --with --ssh --remote --patience --color --no-pager -h --help' files='--with' others='-o|--output|--from|--to|--ssh|--remote|--patience'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	join)
		options='-o --output --from --to --color --no-pager -h --help' files='-o|--output' others='--from|--to'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	info)
		options='--json --color --no-pager -h --help' files='' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	edges)
		options='--type -t --tid --cgroup --container --pod --unit --from --to --idle --self --sort --by --match-window -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='-t|--tid|--cgroup|--container|--pod|--unit|--from|--to|--match-window|-d|--duration'
		case $previous in
		--type) values='fork exec exit vfork unlock pipe socket eventfd ipc signal timer work request writeback journal throttle readahead io_uring call return submit wake' ;;
		--sort) values='length start' ;;
		--by) values='object kind task call holder' ;;
		--color) values='auto always never' ;;
		esac ;;
	requests)
		options='--dev --cgroup --container --pod --unit --from --to --idle --self --sort --by -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--dev|--cgroup|--container|--pod|--unit|--from|--to|-d|--duration'
		case $previous in
		--sort) values='length start' ;;
		--by) values='object kind task call holder' ;;
		--color) values='auto always never' ;;
		esac ;;
	spans)
		options='--key --name -t --tid -p --pid --comm --from --to --list -d --duration --keep -f --functions --returns --strict-entry --max-functions --max-cost --json --color --no-pager -h --help' files='--keep' others='--key|--name|-t|--tid|-p|--pid|--comm|--from|--to|-d|--duration|-f|--functions|--max-functions|--max-cost'
		case $previous in
		--returns) values='auto trampoline exits none' ;;
		--color) values='auto always never' ;;
		esac ;;
	io)
		options='--file --cgroup --container --pod --unit --from --to --self --sort --by -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--file|--cgroup|--container|--pod|--unit|--from|--to|-d|--duration'
		case $previous in
		--sort) values='size waited name' ;;
		--by) values='program file disk' ;;
		--color) values='auto always never' ;;
		esac ;;
	sql)
		options='--csv --spreadsheet --json --color --no-pager -h --help' files='' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	locks)
		options='-t --tid -p --pid --comm --cgroup --container --pod --unit --from --to --self --top -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='-t|--tid|-p|--pid|--comm|--cgroup|--container|--pod|--unit|--from|--to|--top|-d|--duration'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	latency)
		options='--by --group --digits -t --tid -p --pid --comm --cgroup --container --pod --unit --from --to --idle --self --top --live --json -o --output -d --duration --keep -f --functions --returns --strict-entry --max-functions --max-cost --color --no-pager -h --help' files='-o|--output|--keep' others='--group|--digits|-t|--tid|-p|--pid|--comm|--cgroup|--container|--pod|--unit|--from|--to|--top|-d|--duration|-f|--functions|--max-functions|--max-cost'
		case $previous in
		--by) values='path function kind call device lock peer operation' ;;
		--returns) values='auto trampoline exits none' ;;
		--color) values='auto always never' ;;
		esac ;;
	compare)
		options='--by --class --comm --cgroup --container --pod --unit --map --halves --yesterday --history --json --html -o --output --color --no-pager -h --help' files='-o|--output' others='--by|--class|--comm|--cgroup|--container|--pod|--unit|--map|--history'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	history)
		options='--class --last --json --color --no-pager -h --help' files='' others='--class|--last'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	path)
		options='--from --to --all --operations --idle --strategy --top --all-origins --marks --cgroup --container --pod --unit --hierarchy --lines --debuginfod -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--from|--to|--all|--idle|--strategy|--top|--marks|--cgroup|--container|--pod|--unit|--hierarchy|-d|--duration'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	slack)
		options='--from --to --top --cgroup --container --pod --unit --hierarchy --json --color --no-pager -h --help' files='' others='--from|--to|--top|--cgroup|--container|--pod|--unit|--hierarchy'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	blame)
		options='--victims --antagonists --all-running --by --top --from --to --cgroup --container --pod --unit --hierarchy --lines --debuginfod -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--victims|--antagonists|--by|--top|--from|--to|--cgroup|--container|--pod|--unit|--hierarchy|-d|--duration'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	what-if)
		options='--sweep --steps --cpus --resources --top --cgroup --container --pod --unit --try --quota --span --class --operation --delay --blocks --block -p --pid --yes-slow-it-down --hierarchy --json --color --no-pager -h --help' files='' others='--sweep|--steps|--cpus|--resources|--top|--cgroup|--container|--pod|--unit|--try|--quota|--span|--class|--operation|--delay|--blocks|--block|-p|--pid|--hierarchy'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	dump)
		options='--json --color --no-pager -h --help' files='' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	convert)
		options='-o --output --frames --color --no-pager -h --help' files='-o|--output' others='--frames'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	check)
		options='--json --color --no-pager -h --help' files='' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	select)
		options='--cgroup --container --pod --unit --hierarchy --json --color --no-pager -h --help' files='' others='--cgroup|--container|--pod|--unit|--hierarchy'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	pair)
		options='--origins --destinations --type --spans --from --to --reuse --mode --keep-without-origin --keep-without-destination -o --output --hierarchy --json --color --no-pager -h --help' files='-o|--output' others='--origins|--destinations|--type|--from|--to|--mode|--hierarchy'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	forest)
		options='--types --first-only --several --all --dot --json --color --no-pager -h --help' files='' others='--types|--first-only|--several'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	stitch)
		options='-o --output -e --edges -f --file -m --match --type --offset --prefix --hierarchy --json --color --no-pager -h --help' files='-o|--output|-f|--file' others='-e|--edges|-m|--match|--type|--offset|--prefix|--hierarchy'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	annotate)
		options='-r --rule -f --file -o --output --hierarchy --json --color --no-pager -h --help' files='-f|--file|-o|--output' others='-r|--rule|--hierarchy'
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	export)
		options='--to -o --output --from -t --tid -p --pid --comm --cgroup --container --pod --unit --slowest --call --file --lock --span --operation --stacks --lines --debuginfod --idle --spreadsheet --max --split --encoding --endpoint --patience --color --no-pager -h --help' files='-o|--output' others='--from|-t|--tid|-p|--pid|--comm|--cgroup|--container|--pod|--unit|--slowest|--call|--file|--lock|--span|--operation|--max|--split|--encoding|--endpoint|--patience'
		case $previous in
		--to) values='perfetto folded pprof chrome sqlite csv ctf html dot otlp proto' ;;
		--stacks) values='off-cpu wake critical on-cpu' ;;
		--color) values='auto always never' ;;
		esac ;;
	import)
		options='-o --output --color --no-pager -h --help' files='-o|--output' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	functions)
		options='--returns --strict-entry --runtime --json --color --no-pager -h --help' files='' others='--runtime'
		case $previous in
		--returns) values='auto trampoline exits none' ;;
		--color) values='auto always never' ;;
		esac ;;
	doctor)
		options='--json --color --no-pager -h --help' files='' others=''
		case $previous in
		--color) values='auto always never' ;;
		esac ;;
	help)
		options='' files='' others='' ;;
	esac
	if [[ -n $values ]]; then
		[[ $current == *,* ]] && head=${current%,*},
		COMPREPLY=($(compgen -P "$head" -W "$values" -- "${current##*,}"))
	elif [[ -n $others && $previous == @($others) ]]; then
		return
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$current"))
	else
		compopt -o filenames
		COMPREPLY=($(compgen -f -- "$current"))
	fi
}
shopt -s extglob
complete -F _clew clew
