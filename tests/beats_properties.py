"""What is proved of the toy component with lanes."""

from upper import BEATS
from utf8_flow.formal.streams import properties_of

PROPERTIES = {False: properties_of(BEATS.name, None, {}, {})}
