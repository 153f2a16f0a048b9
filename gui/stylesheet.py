"""One style sheet for every widget, built from the palette. Flat: no radius, gradient, shadow or font."""

from __future__ import annotations

from gui.palette import Palette
from gui.resources import THEME


def style_sheet(palette: Palette) -> str:
    """The sheet, every `@token` replaced by its colour and every `@mark(x)` by a picture of this theme."""
    sheet = SHEET
    for mark in ("down", "tick", "tick-off", "dot"):
        sheet = sheet.replace(f"@mark({mark})", f'url("{(THEME / f"{palette.name}-{mark}.svg").as_posix()}")')
    # Longest first: `bg1` is the beginning of `bg1alt`.
    for token, colour in sorted(palette.colours().items(), key=lambda c: -len(c[0])):
        sheet = sheet.replace(f"@{token}", colour)
    return sheet


SHEET = """
* { border-radius: 0; outline: 0; }
QWidget { color: @t1; }
QMainWindow, QDialog { background: @gap; }
QToolTip { background: @well; color: @t1; border: 1px solid @line2; padding: 4px 8px; }

QWidget[surface="gap"] { background: @gap; }
QWidget[surface="panel"] { background: @bg1; }
QWidget[surface="bar"] { background: @bg2; }
QWidget[surface="input"] { background: @bg0; }
QWidget[surface="well"] { background: @well; }
QWidget[surface="critical"] { background: @p1; }
QWidget[edge="right"] { border-right: 1px solid @gap; }
QWidget[edge="bottom"] { border-bottom: 1px solid @gap; }
QWidget[edge="left"] { border-left: 1px solid @gap; }
QWidget[edge="top"] { border-top: 1px solid @gap; }

QLabel { background: transparent; border: 0; }
QLabel[tone="second"] { color: @t2; }
QLabel[tone="past"] { color: @t3; }
QLabel[tone="on-critical"] { color: @on_p; }
QLabel[tone="abnormal"] { color: @p2; }
QLabel[chip="key"] { color: @t2; border: 1px solid @line2; padding: 0 4px; }
QLabel[chip="inverse"] { color: @on_inv; background: @inv; padding: 0 6px; }
QLabel[chip="plain"] { color: @t2; border: 1px solid @line2; padding: 0 6px; }

QPushButton, QToolButton {
    background: @bg3; color: @t1; border: 1px solid @line2; padding: 0 12px; min-height: 26px; }
QPushButton:hover, QToolButton:hover { border-color: @line3; }
QPushButton:pressed, QToolButton:pressed, QPushButton:checked, QToolButton:checked {
    background: @bg4; border-color: @line3; }
QPushButton:focus, QToolButton:focus { border-color: @sel; }
QPushButton:disabled, QToolButton:disabled { background: @bg1; border-color: @line; color: @dis; }
QPushButton[segment="next"] { margin-left: -1px; }
QPushButton[inverse="true"] { background: @inv; border-color: @inv; color: @on_inv; }
QPushButton[armed="true"] { border-color: @inv; }
QPushButton[inverse="true"]:focus { border-color: @sel; }
QPushButton[priority="1"]:enabled { border-color: @p1; }
QPushButton[priority="2"]:enabled { border-color: @p2; }
QPushButton[priority="3"]:enabled { border-color: @p3; }
QPushButton[priority="4"]:enabled { border-color: @p4; }
QPushButton[priority="1"]:focus, QPushButton[priority="2"]:focus,
QPushButton[priority="3"]:focus, QPushButton[priority="4"]:focus { border-width: 2px; }
QToolButton[flat="true"] { background: transparent; border: 1px solid transparent; padding: 0; }
QToolButton[flat="true"]:hover { border-color: @line2; }
QToolButton[flat="true"]:focus { border-color: @sel; }
QPushButton::menu-indicator, QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QComboBox {
    background: @bg0; color: @t1; border: 1px solid @line2; padding: 0 8px; min-height: 26px;
    selection-background-color: @bg4; selection-color: @t1; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus,
QComboBox:focus { border-color: @sel; }
QLineEdit:disabled, QComboBox:disabled, QSpinBox:disabled { border-color: @line; color: @dis; }
QLineEdit[edited="true"] { border-color: @inv; }
QComboBox::drop-down { border: 0; width: 24px; }
QComboBox::down-arrow { image: @mark(down); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: @well; border: 1px solid @line2; padding: 0;
    selection-background-color: @selbg; selection-color: @t1; }
QComboBox QAbstractItemView::item { min-height: 28px; padding: 0 8px; }
QSpinBox::up-button, QSpinBox::down-button { width: 0; border: 0; }

QCheckBox, QRadioButton { spacing: 8px; min-height: 28px; background: transparent; }
QCheckBox:disabled, QRadioButton:disabled { color: @dis; }
QCheckBox::indicator, QRadioButton::indicator {
    width: 14px; height: 14px; background: @bg0; border: 1px solid @line3; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus, QCheckBox:focus::indicator,
QRadioButton:focus::indicator { border-color: @sel; }
QCheckBox::indicator:checked { image: @mark(tick); }
QCheckBox::indicator:checked:disabled { image: @mark(tick-off); }
QRadioButton::indicator:checked { image: @mark(dot); }

QMenu { background: @well; border: 1px solid @line2; padding: 4px 0; }
QMenu::item { padding: 6px 24px 6px 12px; background: transparent; color: @t1; }
QMenu::item:selected { background: @selbg; }
QMenu::item:disabled { color: @t3; }
QMenu::separator { height: 1px; background: @line; margin: 4px 0; }

QSplitter { background: @gap; }
QSplitter::handle { background: @gap; }
QSplitter::handle:hover { background: @line2; }
QSplitter::handle:pressed { background: @sel; }

QTabBar { background: @bg2; border: 0; }
QTabBar::tab { background: @bg2; color: @t2; border: 0; border-right: 1px solid @gap; height: 36px;
    padding: 0 16px; border-top: 2px solid transparent; }
QTabBar::tab:hover { color: @t1; }
QTabBar::tab:selected { background: @bg1; color: @t1; border-top: 2px solid @t3; }
QTabBar::tab:selected:focus { border-top: 2px solid @sel; }
QTabBar QToolButton { background: @bg2; border: 0; border-left: 1px solid @gap; padding: 0; min-height: 0; }
QTabBar::scroller { width: 48px; }

QAbstractScrollArea { background: @bg1; border: 0; }
QAbstractScrollArea::corner { background: @bg1; }
QTableView, QListView { background: @bg1; border: 0; gridline-color: @row;
    selection-background-color: transparent; selection-color: @t1; }
QHeaderView { background: @bg2; border: 0; }
QHeaderView::section { background: @bg2; color: @t2; border: 0; border-top: 1px solid @gap;
    border-bottom: 1px solid @gap; padding: 0 8px 0 0; }
QScrollBar:vertical { background: @bg1; width: 10px; margin: 0; border: 0; }
QScrollBar:horizontal { background: @bg1; height: 10px; margin: 0; border: 0; }
QScrollBar::handle { background: @bg4; border: 2px solid @bg1; }
QScrollBar::handle:hover { background: @line3; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QDialog[surface="dialog"] { background: @bg1; border: 1px solid @line2; }
QProgressBar { background: @well; border: 1px solid @line2; min-height: 6px; max-height: 6px; }
QProgressBar::chunk { background: @t3; }
"""
