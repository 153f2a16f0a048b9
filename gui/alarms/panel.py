"""The alarm panel: filter, list, detail, and the actions on alarms."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QMenu, QVBoxLayout, QWidget

from core.alarms.commands import unshelve_alarm
from core.alarms.model import Alarm
from gui import fonts
from gui.actions import Actions
from gui.alarms.delegate import AlarmDelegate
from gui.alarms.desk import AlarmDesk
from gui.alarms.detail import AlarmDetail
from gui.alarms.listing import AGE, SHAPE, AlarmRow, columns, counts, place, select, tip
from gui.alarms.sound import MUTES, AlarmSound
from gui.freshness import Freshness
from gui.parts import Button, Label, Segments, Surface, Toolbar, styled
from gui.session import Session
from gui.table import Rows, Table
from gui.words import clock

FILTERS = {"open": "Open", "shift": "This shift", "shelved": "Shelved"}
EMPTY = {
    "open": "No alarms. What goes wrong appears here, with what it means and what to do.",
    "shift": "No alarms in the last eight hours.",
    "shelved": "Nothing is shelved. An alarm that cannot be mended now can be put here for a time.",
}
SIDE_BY_SIDE = 960  # px of width from which the detail stands beside the list
NARROW = 520  # px of width below which the buttons say less
STACKED = 460  # px of height from which it stands below


class AlarmPanel(Surface):
    goto = Signal(str, object)  # kind and id of what the alarm is about

    def __init__(
        self, session: Session, actions: Actions, sound: AlarmSound, parent: QWidget | None = None
    ) -> None:
        super().__init__("panel", parent)
        self.setAccessibleName("Alarms")
        self._session = session
        self._actions = actions
        self._sound = sound
        self._covering = False
        self.desk = AlarmDesk(session)
        self._add_actions()
        self.filter = Segments(FILTERS, "Which alarms")
        self.model = Rows(columns(session), self._key, lambda row: tip(session, row), self)
        self.table = Table(self.model, "Alarm list", EMPTY["open"])
        self.delegate = AlarmDelegate(self.table, session, lambda alarm: self.desk.acknowledge([alarm]))
        self.delegate.why_not = lambda alarm: self.desk.why_not_acknowledge([alarm])
        self.table.setItemDelegate(self.delegate)
        self.setFocusProxy(self.table)
        self.detail = AlarmDetail(session, actions)
        self.footer = Label("", fonts.figures(12), "second", elide=True)
        self._build()
        self._connect()
        self.refresh()

    def _build(self) -> None:
        self.mute = Button("Mute", glyph="sound")
        self._actions.bind(self.mute, "alarms.mute")
        self.acknowledge_all = Button("Acknowledge all", key="A")
        self._actions.bind(self.acknowledge_all, "alarms.acknowledge_visible")
        self.freshness = Freshness(self._session, read_only=True)
        toolbar = Toolbar()
        toolbar.add(self.filter)
        toolbar.stretch()
        toolbar.add(self.freshness, self.mute, self.acknowledge_all)
        self.list = QWidget()
        column = QVBoxLayout(self.list)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(toolbar)
        column.addWidget(self.table, 1)
        self.footer.setFixedHeight(24)
        self.footer.setContentsMargins(12, 0, 12, 0)
        column.addWidget(self.footer)
        self._split = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._split.setContentsMargins(0, 0, 0, 0)
        self._split.setSpacing(1)
        # Where the detail stands depends on the width, so the width must not depend on the detail.
        self._split.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._split.addWidget(self.list, 1)
        self._split.addWidget(self.detail)

    def _add_actions(self) -> None:
        add = self._actions.add
        visible, one = self._acknowledge_visible, self._acknowledge_chosen
        add("alarms.acknowledge_visible", "Acknowledge all visible alarms", "Alarms", visible, "A")
        add("alarms.acknowledge", "Acknowledge the selected alarm", "Alarms", one, "Shift+A")
        add("alarms.shelve", "Shelve the selected alarm", "Alarms", self._open_shelf, "S")
        add("alarms.unshelve", "Take the selected alarm off the shelf", "Alarms", self._unshelve, "U")
        add("alarms.goto", "Go to the place of the selected alarm", "Alarms", self._go, "G")
        add("alarms.mute", "Mute the alarm sound for a time", "Alarms", self._mute_menu, "M")
        add("alarms.details", "Show or hide the details", "Alarms", self._toggle_cover, "I")
        for key, title in FILTERS.items():
            show = partial(self._show_filter, key)
            add(f"alarms.show_{key}", f"Show alarms: {title.lower()}", "Alarms", show)
        for minutes in MUTES:
            add(
                f"alarms.mute_{minutes}",
                f"Mute the alarm sound for {minutes} minutes",
                "Alarms",
                partial(self._sound.mute, minutes),
            )

    def _connect(self) -> None:
        session = self._session
        self.filter.chosen.connect(self._filtered)
        self.table.chosen.connect(self._chosen)
        self.table.opened.connect(self._open)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._context_menu)
        self.detail.shelve.connect(self._shelve)
        self.detail.resized.connect(self.place_detail)
        session.alarms_changed.connect(self.refresh)
        session.pending_changed.connect(self.refresh)
        session.abilities_changed.connect(self.refresh)
        session.bridge.stale_changed.connect(self.table.set_old)
        session.ticker.second.connect(self._second)
        session.ticker.flash.connect(lambda _: self.model.touch(SHAPE))
        self._sound.changed.connect(self._show_mute)
        self.table.set_old(session.stale)
        self._show_mute()

    @staticmethod
    def _key(row: AlarmRow) -> object:
        return "section" if row.alarm is None else row.alarm.id

    # What is shown

    def refresh(self) -> None:
        session, now = self._session, self._session.now()
        alarms = session.alarms()
        rows = select(alarms, self.filter.current(), now)
        rows = [
            replace(r, pending=r.alarm is not None and session.is_pending(("alarm", r.alarm.id)))
            for r in rows
        ]
        self.model.show(rows)
        numbers = counts(alarms, now)
        for key, title in FILTERS.items():
            self.filter.buttons[key].show_text(f"{title} {numbers[key]}")
        waiting = len(self.desk.waiting())
        words = f"{numbers['open']} open · {waiting} unacknowledged · {numbers['shelved']} shelved"
        self.footer.show_text(f"{words} · sorted by cause, then priority")
        self._chosen(self.table.chosen_row())

    def _second(self) -> None:
        self.model.touch(AGE)
        self._show_mute()
        if any(
            r.alarm and r.alarm.shelved_until and not r.alarm.shelved(self._session.now())
            for r in self.model.rows
        ):
            self.refresh()

    def _filtered(self, which: str) -> None:
        self.table.empty = EMPTY[which]
        self.refresh()
        self.table.viewport().update()

    def _show_filter(self, which: str) -> None:
        self.filter.choose(which)

    def chosen_alarm(self) -> Alarm | None:
        row = self.table.chosen_row()
        return row.alarm if isinstance(row, AlarmRow) else None

    def visible_alarms(self) -> list[Alarm]:
        return [row.alarm for row in self.model.rows if row.alarm is not None]

    def _chosen(self, _row: object) -> None:
        alarm = self.chosen_alarm()
        self.detail.show_alarm(alarm)
        allow = self._actions.allow
        allow("alarms.acknowledge_visible", self.desk.why_not_acknowledge(self.visible_alarms()))
        allow("alarms.acknowledge", self.desk.why_not_acknowledge([alarm] if alarm else []))
        allow("alarms.shelve", self.desk.why_not_shelve(alarm))
        allow("alarms.goto", None if alarm else "Select an alarm first.")
        not_shelved = None if alarm and alarm.shelved(self._session.now()) else "It is not on the shelf."
        allow("alarms.unshelve", self.desk.why_not_shelve(alarm, unshelve_alarm) or not_shelved)
        self.place_detail()

    def _open(self, row: object) -> None:
        if isinstance(row, AlarmRow) and row.alarm is not None:
            self.goto.emit(*place(row.alarm, self._session.model.windows))

    def _go(self) -> None:
        self._open(self.table.chosen_row())

    # What is done

    def _acknowledge_visible(self) -> None:
        self.desk.acknowledge(self.visible_alarms())

    def _acknowledge_chosen(self) -> None:
        if (alarm := self.chosen_alarm()) is not None:
            self.desk.acknowledge([alarm])

    def _open_shelf(self) -> None:
        if not self.detail.isVisible():
            self._toggle_cover()
        self.detail.open_shelf()

    def _shelve(self, alarm: Alarm, duration: timedelta, reason: str) -> None:
        self.desk.shelve(alarm, duration, reason)
        self.table.setFocus()

    def _unshelve(self) -> None:
        if (alarm := self.chosen_alarm()) is not None:
            self.desk.unshelve(alarm)

    def _context_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        for action in (
            "alarms.acknowledge",
            "alarms.goto",
            "alarms.shelve",
            "alarms.unshelve",
            "alarms.details",
        ):
            menu.addAction(self._actions[action].qt)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.table.viewport().mapToGlobal(at))

    def _mute_menu(self) -> None:
        if self._sound.muted_for():
            self._sound.unmute()
            return
        menu = QMenu(self)
        for minutes in MUTES:
            menu.addAction(self._actions[f"alarms.mute_{minutes}"].qt)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.mute.mapToGlobal(QPoint(0, self.mute.height())))

    def _show_mute(self) -> None:
        left = self._sound.muted_for()
        styled(self.mute, inverse="true" if left else "")
        if left:
            self.mute.show_text(
                f"Muted {clock(left + 0.999)[3:]}" if left < 3600 else f"Muted {clock(left)}", "muted"
            )
            self._actions.rename("alarms.mute", "Let alarms sound again")
        else:
            self.mute.show_text(
                ("Mute" if self._sound.enabled else "Sound off") if self.width() >= NARROW else "",
                "sound" if self._sound.enabled else "muted",
            )
            self._actions.rename("alarms.mute", "Mute the alarm sound for a time")
        self._actions.allow(
            "alarms.mute", None if self._sound.enabled else "The sound is switched off in the settings."
        )

    # Where the detail stands

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.width() >= NARROW
        self.acknowledge_all.show_text("Acknowledge all" if wide else "Ack all", key="A" if wide else "")
        self._show_mute()
        self.place_detail()

    def place_detail(self) -> None:
        beside, below = self.width() >= SIDE_BY_SIDE, self.height() >= STACKED
        covering = self._covering and not beside and not below
        self._split.setDirection(
            QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        )
        self.detail.setMinimumSize(0, 0)
        self.detail.setMaximumSize(16777215, 16777215)
        if beside:
            self.detail.setFixedWidth(360)
        elif below:
            wanted = self.detail.heightForWidth(self.width())
            self.detail.setFixedHeight(min(max(200, wanted), self.height() * 6 // 10))
        self.list.setVisible(not covering)
        room = self.width() - (self.detail.width() if beside else 0)
        self.freshness.as_of.setVisible(room >= 720)
        self.detail.setVisible(beside or below or covering)

    def _toggle_cover(self) -> None:
        self._covering = not self._covering
        self.place_detail()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.detail.shelf.isVisible():
                self.detail.close_shelf()
            elif self._covering:
                self._toggle_cover()
            self.table.setFocus()
            return
        super().keyPressEvent(event)
