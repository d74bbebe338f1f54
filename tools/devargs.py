"""How the commands of ./dev read their options: in any order, `--name value` or `--name=value`, with a --help that has examples. An
option that does not exist is named together with the nearest one that does."""
import argparse
import difflib


class Parser(argparse.ArgumentParser):
    """Options of one command. `examples` are command lines, with a comment where one is needed."""

    def __init__(self, command, purpose, *examples):
        super().__init__(prog=f"./dev {command}", description=purpose, epilog="examples:\n" + "".join(f"  {line}\n" for line in examples),
                         formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)

    def add_list(self, option, known, noun, help, default=()):  # noqa: A002: argparse's own name
        """An option whose value is a comma list of known words. Without it: `default`, or all of them."""

        def words(text):
            found = text.split(",")
            for word in found:
                if word not in known:
                    raise argparse.ArgumentTypeError(f"unknown {noun} {word!r}{nearest(word, known)}")
            return [word for word in known if word in found]

        self.add_argument(option, type=words, default=list(known) if default == () else default, metavar="LIST", help=f"comma list of: {' '.join(known)}; {help}")

    def parse_args(self, args=None, namespace=None):
        found, rest = self.parse_known_intermixed_args(args, namespace)
        for word in rest:
            if word.startswith("-"):
                option = word.split("=")[0]
                self.error(f"unknown option {option}{nearest(option, self._option_string_actions)}")
            self.error(f"unexpected argument {word!r}")
        return found


def nearest(word, known):
    """The end of a message about a word that is not known."""
    close = difflib.get_close_matches(word, known, 1, 0.5)
    return f"; did you mean {close[0]}?" if close else f"; there are: {' '.join(known)}"
