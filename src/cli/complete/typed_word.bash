    # Bash ends a word at `=`: what is typed is one word, up to the blank before it.
    local typed="${COMP_LINE:0:COMP_POINT}"
    typed="${typed##*[[:space:]]}"
    if [[ "$typed" == *=* ]]; then
        IFS=$' \t\n' read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
        _CLAP_COMPLETE_INDEX=$(( ${#words[@]} - 1 ))
    fi
