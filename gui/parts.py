"""Small parts that every panel uses: labels, chips, key caps, buttons, segments, search fields, strips."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QWidget,
)

from gui import fonts
from gui.glyphs import paint_glyph
from gui.theme import theme


def styled(widget: QWidget, **properties: object) -> None:
    """Sets properties that the style sheet looks at, and has it look again."""
    changed = False
    for name, value in properties.items():
        if widget.property(name) != value:
            widget.setProperty(name, value)
            changed = True
    if changed:
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        widget.update()


class Surface(QFrame):
    """A rectangle of one of the palette's grounds."""

    def __init__(self, surface: str, parent: QWidget | None = None, edge: str = "") -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", surface)
        if edge:
            self.setProperty("edge", edge)


class Label(QLabel):
    """Text that shows all of itself or, when it may be cut, ends in … and has the whole in its tooltip."""

    def __init__(
        self,
        text: str = "",
        font: QFont | None = None,
        tone: str = "",
        parent: QWidget | None = None,
        *,
        elide: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._elide = elide
        self._full = ""
        if font is not None:
            self.setFont(font)
        if tone:
            self.setProperty("tone", tone)
        if elide:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        if text == self._full:
            return
        self._full = text
        if self._elide:
            self._cut()
        else:
            self.setText(text)
        self.setAccessibleName(text)

    @property
    def full_text(self) -> str:
        return self._full

    @property
    def cut(self) -> bool:
        return self.fontMetrics().horizontalAdvance(self._full) > self.contentsRect().width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._elide:
            self._cut()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return (
            QSize(self.fontMetrics().horizontalAdvance(self._full) + 1, hint.height())
            if self._elide
            else hint
        )

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(0, hint.height()) if self._elide else hint

    def _cut(self) -> None:
        shown = self.fontMetrics().elidedText(
            self._full, Qt.TextElideMode.ElideRight, self.contentsRect().width()
        )
        super().setText(shown)
        self.setToolTip(self._full if shown != self._full else "")


class Chip(QLabel):
    """A word in a box, 20 px high: a key (`key`), an operator's hand (`inverse`), anything else (`plain`)."""

    def __init__(self, text: str, kind: str = "plain", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setFont(fonts.text(12, 700 if kind == "inverse" else 500))
        self.setProperty("chip", kind)
        self.setFixedHeight(18 if kind == "key" else 20)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setFixedWidth(
            max(18, self.fontMetrics().horizontalAdvance(text) + (10 if kind == "key" else 14))
        )


class Button(QPushButton):
    """A 28 px button, with a glyph before its text and a key cap after it when asked for."""

    def __init__(
        self, text: str, parent: QWidget | None = None, *, glyph: str = "", key: str = "", height: int = 28
    ) -> None:
        super().__init__(text, parent)
        self.setFont(fonts.figures(13, 500))
        self.setFixedHeight(height)
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._glyph = glyph
        self._key = key

    def show_text(self, text: str, glyph: str | None = None, key: str | None = None) -> None:
        glyph = self._glyph if glyph is None else glyph
        key = self._key if key is None else key
        if (text, glyph, key) != (self.text(), self._glyph, self._key):
            self._glyph, self._key = glyph, key
            self.setText(text)
            self.setAccessibleName(text or self.accessibleName())  # a glyph alone keeps the name it had
            self.updateGeometry()

    def _content_width(self) -> int:
        width = self.fontMetrics().horizontalAdvance(self.text())
        if self._glyph:
            width += 12 + (8 if self.text() else 0)
        if self._key:
            width += self._key_width() + 8
        return width

    def _key_width(self) -> int:
        return max(18, QFontMetrics(fonts.text(12, 500)).horizontalAdvance(self._key) + 10)

    def sizeHint(self) -> QSize:
        return QSize(self._content_width() + (26 if self.text() else 16), self.height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _ink(self) -> str:
        if not self.isEnabled():
            return "dis"
        return "on_inv" if self.property("inverse") else "t1"

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = ""
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        x = (self.width() - self._content_width()) / 2
        middle = self.height() / 2
        if self._glyph:
            paint_glyph(painter, self._glyph, QRectF(x, middle - 6, 12, 12), self._ink())
            x += 20
        painter.setFont(self.font())
        painter.setPen(theme.colour(self._ink()))
        width = self.fontMetrics().horizontalAdvance(self.text())
        painter.drawText(QRectF(x, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, self.text())
        if self._key:
            cap = QRectF(round(x + width + 8) + 0.5, round(middle - 9) + 0.5, self._key_width() - 1, 17)
            painter.setPen(theme.colour("line2" if self.isEnabled() else "line"))
            painter.drawRect(cap)
            painter.setFont(fonts.text(12, 500))
            painter.setPen(theme.colour("t2" if self.isEnabled() else "dis"))
            painter.drawText(cap, Qt.AlignmentFlag.AlignCenter, self._key)
        painter.end()


class Segments(QWidget):
    """Buttons of which one is down; the arrow keys move between them."""

    chosen = Signal(str)

    def __init__(self, choices: dict[str, str], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self.buttons: dict[str, Button] = {}
        group = QButtonGroup(self)
        for key, text in choices.items():
            button = Button(text)
            button.setCheckable(True)
            button.setProperty("segment", "next" if self.buttons else "first")
            button.clicked.connect(lambda _=False, key=key: self.chosen.emit(key))
            group.addButton(button)
            row.addWidget(button)
            self.buttons[key] = button
        next(iter(self.buttons.values())).setChecked(True)

    def choose(self, key: str) -> None:
        if not self.buttons[key].isChecked():
            self.buttons[key].setChecked(True)
            self.chosen.emit(key)

    def current(self) -> str:
        return next(key for key, button in self.buttons.items() if button.isChecked())


class SearchField(QLineEdit):
    """An input with a lens; Esc empties it, then leaves it."""

    def __init__(self, placeholder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self.setFixedHeight(28)
        self.setTextMargins(20, 0, 0, 0)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        paint_glyph(painter, "find", QRectF(9, 8, 12, 12), "t2")
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            return
        super().keyPressEvent(event)


class Toolbar(Surface):
    """The 36 px row above a panel's content."""

    def __init__(self, parent: QWidget | None = None, surface: str = "panel") -> None:
        super().__init__(surface, parent)
        self.setFixedHeight(36)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(12, 0, 8, 0)
        self.row.setSpacing(8)

    def add(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self.row.addWidget(widget)

    def stretch(self) -> None:
        self.row.addStretch(1)
