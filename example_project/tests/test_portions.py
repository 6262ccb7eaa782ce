from stockpot.portions import box_names, portion


def test_box_names():
    assert box_names("chili", 2) == ["chili 1 of 2", "chili 2 of 2"]
    assert box_names("soup", 1) == ["soup 1 of 1"]
    assert len(box_names("stock", 12)) == 12
    assert box_names("stock", 12)[-1] == "stock 12 of 12"


def test_no_boxes():
    assert box_names("chili", 0) == []


def test_portion(dal):
    assert portion(dal, 4) == ["50 g red lentils", "100 ml coconut milk"]
