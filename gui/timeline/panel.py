"""The timeline as a panel: its toolbar, its canvas, and what connects hands to commands."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QMenu, QVBoxLayout, QWidget

from core.recording.commands import cancel_window, create_window, edit_window
from core.recording.model import Window
from gui import fonts
from gui.actions import Actions
from gui.dialogs.question import Question
from gui.freshness import Freshness
from gui.parts import Button, Chip, Label, SearchField, Segments, Surface, Toolbar
from gui.recorders.buttons import MarkButton
from gui.recorders.plan import Plan
from gui.session import Session
from gui.theme import theme
from gui.timeline.axis import SPANS
from gui.timeline.canvas import Canvas
from gui.timeline.editor import WORDS, Editor
from gui.timeline.extend_bar import EXTENSIONS, ExtendBar
from gui.timeline.gesture import Draft
from gui.timeline.hits import Hit
from gui.timeline.knowledge import Knowledge
from gui.timeline.paint_drag import callout_lines
from gui.timeline.question import SeriesQuestion
from gui.timeline.snapping import GRIDS

NARROW = 1100  # px of width below which the toolbar is crowded
SPAN_WORDS = {"1h": "1 h", "4h": "4 h", "12h": "12 h", "24h": "24 h", "7d": "7 d"}


class TimelinePanel(Surface):
    open_window = Signal(object)  # a window to be inspected
    new_window = Signal(object)  # the recorder for which one is wanted, or None

    def __init__(self, session: Session, actions: Actions, plan: Plan, parent: QWidget | None = None) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Timeline")
        self._session = session
        self._actions = actions
        self.known = Knowledge(session, plan)
        self.destroyed.connect(self.known.lanes.close)
        self.editor = Editor(session, self)
        self.canvas = Canvas(session, self.known)
        self.extend_bar = ExtendBar(self.canvas)
        self.setFocusProxy(self.canvas)
        self._add_actions()
        self._build()
        self._connect()
        self._may()

    def _add_actions(self) -> None:
        add = self._actions.add
        add("timeline.go", "Go to the timeline", "Timeline", self.canvas.setFocus, "Alt+T")
        add("timeline.follow", "Follow now (Space in the timeline)", "Timeline", self._toggle_follow)
        add("timeline.undo", "Undo", "Schedule", self.editor.undo.undo, "Ctrl+Z")
        add("timeline.redo", "Redo", "Schedule", self.editor.undo.redo, "Ctrl+Shift+Z")
        for key, words in SPAN_WORDS.items():
            add(f"timeline.{key}", f"Show {words}", "Timeline", partial(self._show_span, key))

    def _build(self) -> None:
        self.spans = Segments(SPAN_WORDS, "Time shown")
        self.spans.buttons["4h"].setChecked(True)
        for key, button in self.spans.buttons.items():
            button.setToolTip(f"Show {SPAN_WORDS[key]} (zoom: wheel, + and −)")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.follow = Button("Follow now")
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.follow.setToolTip("Keep now in view; scrolling lets go (Space)")
        self.snap = QComboBox()
        self.snap.setAccessibleName("Snap")
        self.snap.setFixedHeight(28)
        self.snap.setToolTip("What a hand's movement snaps to (Shift while dragging: nothing)")
        for words in GRIDS:
            self.snap.addItem(f"Snap {words}", words)
        self.snap.setCurrentIndex(list(GRIDS).index("5 min"))
        self.undo_button = MarkButton("", "undo")
        self.redo_button = MarkButton("", "redo")
        self.undo_button.setAccessibleName("Undo")
        self.redo_button.setAccessibleName("Redo")
        self._actions.bind(self.undo_button, "timeline.undo")
        self._actions.bind(self.redo_button, "timeline.redo")
        self.new_button = MarkButton("New window", "plus")
        self.new_button.setToolTip("New window (N); or draw one on an empty stretch")
        self.waits = Chip("SAVING", "inverse")
        self.waits.setToolTip("Waiting until the database has taken the change")
        self.waits.hide()
        self.search = SearchField("Filter title, source, name")
        self.search.setToolTip("Filter windows, recorders and channels (/)")
        self.search.setMinimumWidth(110)
        self.search.setMaximumWidth(232)
        self.toolbar = Toolbar(surface="bar")
        self.heading = Label("Timeline", fonts.text(13, 600))
        self.heading.setFixedWidth(196)
        self.toolbar.add(
            self.heading,
            self.spans,
            self.follow,
            self.snap,
            self.undo_button,
            self.redo_button,
            self.new_button,
        )
        self.toolbar.stretch()
        self.toolbar.add(self.waits, Freshness(self._session, read_only=True))
        self.toolbar.row.addWidget(self.search, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self.canvas, 1)

    def _connect(self) -> None:
        session, canvas = self._session, self.canvas
        session.bridge.changed.connect(self._changed)
        session.alarms_changed.connect(self._alarms_changed)
        session.abilities_changed.connect(self._may)
        session.bridge.stale_changed.connect(canvas.refresh)
        session.ticker.second.connect(canvas.tick)
        session.ticker.flash.connect(lambda _: canvas.refresh())
        theme.changed.connect(canvas.refresh)
        self.spans.chosen.connect(self._show_span)
        self.follow.clicked.connect(self._toggle_follow)
        self.snap.currentIndexChanged.connect(lambda _: self._set_grid())
        self.new_button.clicked.connect(self.ask_new)
        self.search.textChanged.connect(self._filter)
        self.editor.changed.connect(self._waiting_changed)
        self.editor.undo.changed.connect(self._undo_changed)
        self.editor.made.connect(self._made)
        canvas.dropped.connect(self.drop)
        canvas.opened.connect(self.open_window)
        canvas.removed.connect(self.ask_remove)
        canvas.menu_wanted.connect(self._menu)
        canvas.say.connect(session.say)
        canvas.follow_changed.connect(self.follow.setChecked)
        canvas.span_changed.connect(self._span_changed)
        canvas.hovered.connect(self.extend_bar.hover)
        canvas.selection_changed.connect(self.extend_bar.refresh)
        self.extend_bar.wanted.connect(self.editor.extend)
        self._undo_changed()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """On a narrow screen the name of the panel and the words of the grid make room for what is used."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        self.heading.setVisible(not narrow)
        self.snap.setVisible(not narrow or not self._session.stale)

    # Keeping up

    def _changed(self, changes: dict[str, frozenset[int]]) -> None:
        rows = self.known.rows
        self.known.changed(changes)
        if self.known.rows is not rows:
            self.canvas.fit_rows()
        else:
            self.canvas.refresh()
        if "recorder_schedules" in changes:
            self.canvas.scene_.selected &= self._session.model.windows.keys()
            self.extend_bar.refresh()

    def _alarms_changed(self) -> None:
        self.known.refresh_alarms()
        self.canvas.refresh()

    def _may(self) -> None:
        self.canvas.locked = self._session.why_not(edit_window)
        why = self._session.why_not(create_window)
        self.new_button.setEnabled(why is None)
        self.new_button.setToolTip(
            f"New window (N)\n{why}" if why else "New window (N); or draw one by dragging"
        )
        self.snap.setEnabled(self.canvas.locked is None)
        self.snap.setVisible(self.width() >= NARROW or not self._session.stale)
        self._undo_changed()
        self.extend_bar.refresh()

    def _waiting_changed(self) -> None:
        waiting = self.editor.waiting()
        self.canvas.scene_.hand.waiting = waiting
        self.waits.setVisible(bool(waiting))
        self.canvas.refresh()

    def _undo_changed(self) -> None:
        undo = self.editor.undo
        self._actions.rename("timeline.undo", f"Undo {undo.undo_name}".strip())
        self._actions.rename("timeline.redo", f"Redo {undo.redo_name}".strip())
        self._actions.allow("timeline.undo", self.canvas.locked or undo.why_not_undo())
        self._actions.allow("timeline.redo", self.canvas.locked or undo.why_not_redo())

    def _made(self, id: int) -> None:
        self.canvas.select(id)

    # Toolbar

    def _show_span(self, key: str) -> None:
        self.spans.buttons[key].setChecked(True)
        self.canvas.show_span(SPANS[key])

    def _span_changed(self, span: float) -> None:
        """No button is down when the wheel has chosen another span."""
        group = self.spans.buttons["4h"].group()
        group.setExclusive(False)
        for key, button in self.spans.buttons.items():
            button.setChecked(SPANS[key] == span)
        group.setExclusive(True)

    def _toggle_follow(self) -> None:
        self.canvas.follow_now()
        self.follow.setChecked(True)

    def _set_grid(self) -> None:
        self.canvas.grid = GRIDS[self.snap.currentData()]

    def _filter(self, words: str) -> None:
        self.known.words = words.strip().casefold()
        self.known.arrange()
        self.canvas.fit_rows()

    def focus_filter(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    # What hands ask for

    def drop(self, made: Draft) -> None:
        """A drop on a repeating window is asked about first; what collides is refused there."""
        lead = made.lead.window
        if (
            lead is None or lead.series_id is None or made.copy or len(made.pieces) > 1 or lead.status != "pending"
            or not made.changed or not made.possible or self.canvas.locked
        ):  # fmt: skip
            self.editor.drop(made)
            return
        lines = callout_lines(made, self._session)
        text = f"{lead.name} repeats. Apply the change to this one, to this and those that follow, or to all?"
        question = SeriesQuestion(
            f"{WORDS[made.kind].capitalize()} {lead.name}",
            "\n".join([text, *lines]),
            " ".join(lines),
            self.window(),
        )
        question.answered.connect(lambda scope: self.editor.edit_series(made.lead, scope, WORDS[made.kind]))
        question.open()

    def ask_new(self) -> None:
        row = self.canvas.scene_.selected_row
        self.new_window.emit(row[1] if row is not None and row[0] == "recorder" else None)

    def ask_remove(self) -> None:
        windows = [
            w for w in self.canvas.selected_windows() if w.status in ("pending", "starting", "running")
        ]
        if why := self.editor.why_not(cancel_window, windows):
            self._session.say(why)
        elif windows:
            names = ", ".join(w.name for w in windows[:4]) + (
                f" and {len(windows) - 4} more" if len(windows) > 4 else ""
            )
            running = [w.name for w in windows if w.status != "pending"]
            text = f"Take {names} out of the plan?"
            if running:
                text += f" {', '.join(running)}: the recording ends now."
            question = Question("Remove", text, "Remove", self.window())
            question.accepted.connect(lambda: self.editor.remove(windows))
            question.open()

    def extend(self, minutes: int) -> None:
        """From the keyboard: the selected window, or what the selected recorder records."""
        windows = self.canvas.selected_windows()
        row = self.canvas.scene_.selected_row
        if not windows and row is not None and row[0] == "recorder":
            current = self.known.plan.current(row[1], self._session.now())
            windows = [] if current is None else [current]
        if not windows:
            self._session.say("Select a window first.")
        for window in windows:
            self.editor.extend(window, minutes)

    def show_recorder(self, id: int) -> None:
        """As an alarm asks for it."""
        if self.known.rows.of("recorder", id) is None:
            self.search.clear()
        self.canvas.select(row=("recorder", id))
        self.canvas.reveal_row("recorder", id)
        self.canvas.setFocus()

    def show_window(self, window: Window) -> None:
        self.canvas.select(window.id, row=("recorder", window.recorder_id))
        self.canvas.reveal(window)

    def _menu(self, found: Hit, at: QPoint) -> None:
        window = found.window
        assert window is not None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Open (Enter)", lambda: self.open_window.emit(window))
        if window.status in ("starting", "running", "pending"):
            menu.addSeparator()
            for minutes in EXTENSIONS:
                menu.addAction(f"Extend by {minutes} min", partial(self.editor.extend, window, minutes))
            menu.addSeparator()
            menu.addAction("Remove (Delete)", self.ask_remove)
        menu.popup(at)
