# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion of clew in bash, made by tools/completions from `clew help`: do not edit.
_clew()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
	local commands='record top report waits why trigger daemon incidents snapshot join info edges requests spans io sql locks latency path slack blame what-if dump convert check select pair forest stitch annotate export import functions doctor help'
	local options files others

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
		options='-o --output --rotate --keep --keyframe -d --duration -p --pid -t --tid --comm --cgroup --container -f --functions --returns --strict-entry --max-functions --max-cost -k --kernel-functions --usdt --lock-holds --environment --layer --stacks --no-stacks --stack-min --no-page-cache --sync --ring-size --pause-drain --trace-events --few-task-slots --verify-counters --color --no-pager -h --help' files='-o|--output|--layer' others='--rotate|--keep|--keyframe|-d|--duration|-p|--pid|-t|--tid|--comm|--cgroup|--container|-f|--functions|--returns|--max-functions|--max-cost|-k|--kernel-functions|--usdt|--lock-holds|--environment|--stack-min|--ring-size|--pause-drain' ;;
	top)
		options='--period -n --count --pid --comm --cgroup --container --text --json --color --no-pager -h --help' files='' others='--period|-n|--count|--pid|--comm|--cgroup|--container' ;;
	report)
		options='--pid --comm --cgroup --container --from --to --lines --debuginfod -d --duration --keep --json --html -o --output --slowest --all --color --no-pager -h --help' files='--keep|-o|--output' others='--pid|--comm|--cgroup|--container|--from|--to|-d|--duration|--slowest' ;;
	waits)
		options='--tid --pid --comm --cgroup --container --min --kind --from --to --idle --self --sort --by --stacks --lines --debuginfod -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--tid|--pid|--comm|--cgroup|--container|--min|--kind|--from|--to|--sort|--by|-d|--duration' ;;
	why)
		options='--tid --pid --comm --cgroup --container --slowest --call --file --lock --span --operation --now --from --to --idle --without --without-functions --lines --debuginfod --steps --all -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--tid|--pid|--comm|--cgroup|--container|--call|--file|--lock|--span|--operation|--from|--to|--idle|--without|-d|--duration' ;;
	trigger)
		options='--json --color --no-pager -h --help' files='' others='' ;;
	daemon)
		options='-c --config --foreground --json --color --no-pager -h --help' files='-c|--config' others='' ;;
	incidents)
		options='--directory --json --color --no-pager -h --help' files='' others='--directory' ;;
	snapshot)
		options='-o --output --last --color --no-pager -h --help' files='-o|--output' others='--last' ;;
	join)
		options='-o --output --from --to --color --no-pager -h --help' files='-o|--output' others='--from|--to' ;;
	info)
		options='--json --color --no-pager -h --help' files='' others='' ;;
	edges)
		options='--type --tid --cgroup --container --from --to --idle --self --sort --by --match-window -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--type|--tid|--cgroup|--container|--from|--to|--sort|--by|--match-window|-d|--duration' ;;
	requests)
		options='--dev --cgroup --container --from --to --idle --self --sort --by -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--dev|--cgroup|--container|--from|--to|--sort|--by|-d|--duration' ;;
	spans)
		options='--key --name --tid --pid --comm --from --to --list -d --duration --keep -f --functions --returns --strict-entry --max-functions --max-cost --json --color --no-pager -h --help' files='--keep' others='--key|--name|--tid|--pid|--comm|--from|--to|-d|--duration|-f|--functions|--returns|--max-functions|--max-cost' ;;
	io)
		options='--file --cgroup --container --from --to --self --sort --by -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--file|--cgroup|--container|--from|--to|--sort|--by|-d|--duration' ;;
	sql)
		options='--csv --spreadsheet --json --color --no-pager -h --help' files='' others='' ;;
	locks)
		options='--tid --pid --comm --cgroup --container --from --to --self --top -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--tid|--pid|--comm|--cgroup|--container|--from|--to|--top|-d|--duration' ;;
	latency)
		options='--by --group --digits --tid --pid --comm --cgroup --container --from --to --idle --self --top --live --json -o --output -d --duration --keep -f --functions --returns --strict-entry --max-functions --max-cost --color --no-pager -h --help' files='-o|--output|--keep' others='--by|--group|--digits|--tid|--pid|--comm|--cgroup|--container|--from|--to|--top|-d|--duration|-f|--functions|--returns|--max-functions|--max-cost' ;;
	path)
		options='--from --to --all --operations --idle --strategy --top --all-origins --marks --cgroup --container --hierarchy --lines --debuginfod -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--from|--to|--all|--idle|--strategy|--top|--marks|--cgroup|--container|--hierarchy|-d|--duration' ;;
	slack)
		options='--from --to --top --cgroup --container --hierarchy --json --color --no-pager -h --help' files='' others='--from|--to|--top|--cgroup|--container|--hierarchy' ;;
	blame)
		options='--victims --antagonists --all-running --by --top --from --to --cgroup --container --hierarchy --lines --debuginfod -d --duration --keep --json --color --no-pager -h --help' files='--keep' others='--victims|--antagonists|--by|--top|--from|--to|--cgroup|--container|--hierarchy|-d|--duration' ;;
	what-if)
		options='--sweep --steps --cpus --resources --top --cgroup --container --hierarchy --json --color --no-pager -h --help' files='' others='--sweep|--steps|--cpus|--resources|--top|--cgroup|--container|--hierarchy' ;;
	dump)
		options='--json --color --no-pager -h --help' files='' others='' ;;
	convert)
		options='-o --output --frames --color --no-pager -h --help' files='-o|--output' others='--frames' ;;
	check)
		options='--json --color --no-pager -h --help' files='' others='' ;;
	select)
		options='--cgroup --container --hierarchy --json --color --no-pager -h --help' files='' others='--cgroup|--container|--hierarchy' ;;
	pair)
		options='--origins --destinations --type --spans --from --to --reuse --mode --keep-without-origin --keep-without-destination -o --output --hierarchy --json --color --no-pager -h --help' files='-o|--output' others='--origins|--destinations|--type|--from|--to|--mode|--hierarchy' ;;
	forest)
		options='--types --first-only --several --all --dot --json --color --no-pager -h --help' files='' others='--types|--first-only|--several' ;;
	stitch)
		options='-o --output -e --edges -f --file -m --match --type --offset --prefix --hierarchy --json --color --no-pager -h --help' files='-o|--output|-f|--file' others='-e|--edges|-m|--match|--type|--offset|--prefix|--hierarchy' ;;
	annotate)
		options='-r --rule -f --file -o --output --hierarchy --json --color --no-pager -h --help' files='-f|--file|-o|--output' others='-r|--rule|--hierarchy' ;;
	export)
		options='--to -o --output --from --tid --pid --comm --cgroup --container --slowest --call --file --lock --span --operation --stacks --lines --debuginfod --idle --spreadsheet --max --split --encoding --endpoint --patience --color --no-pager -h --help' files='-o|--output' others='--to|--from|--tid|--pid|--comm|--cgroup|--container|--slowest|--call|--file|--lock|--span|--operation|--stacks|--max|--split|--encoding|--endpoint|--patience' ;;
	import)
		options='-o --output --color --no-pager -h --help' files='-o|--output' others='' ;;
	functions)
		options='--returns --strict-entry --json --color --no-pager -h --help' files='' others='--returns' ;;
	doctor)
		options='--json --color --no-pager -h --help' files='' others='' ;;
	help)
		options='' files='' others='' ;;
	esac
	if [[ $previous == --color ]]; then
		COMPREPLY=($(compgen -W 'auto always never' -- "$current"))
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
