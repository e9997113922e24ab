"""`python -m accelwatch`: the command line."""

from accelwatch.cli.startup.main import main

if __name__ == "__main__":
    main()
