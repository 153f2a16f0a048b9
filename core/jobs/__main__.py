"""`python -m core.jobs`: a worker, as an agent starts it."""

import sys

from core.jobs.program import main

sys.exit(main())
