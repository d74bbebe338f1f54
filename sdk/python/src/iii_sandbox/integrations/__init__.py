"""A sandbox as tools of an agent. One module for each framework; import the one whose framework is installed:

    from iii_sandbox.integrations.langchain import sandbox_tools

The tools are the same everywhere: run_code, run_command, read_file, write_file, list_files."""
