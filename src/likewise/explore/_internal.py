"""What other folders use of this one beyond its documented names."""

from likewise.explore._server import PageServer
