    # Bash replaces what follows the last `=` only.
    if [[ "$typed" == *=* && ${#COMPREPLY[@]} -gt 0 ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"${typed%"${typed##*=}"}"}" )
    fi
